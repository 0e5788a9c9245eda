// emulated_plants PLANT: exchanges over emulated GPUs that behave as if the program had forgotten something, until a
// run shows it: status 1, and what it was to standard error. Status 0 when some runs have shown nothing.
#include <cstdlib>
#include <iostream>

#include "gpu/emulated/worlds.hpp"

int main(int argc, char** argv) {
  const auto processes = ckpt::mpi_world();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    emulated::Plan plan =
        emulated::plan_of(std::string("plant=") + (argc > 1 ? argv[1] : "none") + " seed=" + std::to_string(seed), 0);
    const ckpt::Ending ending = ckpt::run_planned(*processes, plan);
    const std::string found = ending.error + ending.wrong + emulated::left();
    if (processes->maximum(found.empty() ? 0 : 1) == 0) continue;
    if (!found.empty()) std::cerr << "found: " + found + "\n";  // in one piece
    processes->sum(0);
    std::_Exit(1);
  }
  return 0;
}
