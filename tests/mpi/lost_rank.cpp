// One process of several is lost in one of the ways that lost_rank.sh knows, while the others wait for it.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "processes/communicator.hpp"

namespace {

void lose(const std::string& way, ckpt::Communicator& processes) {
  const bool lost = processes.rank() == processes.size() - 1;
  if (way == "agrees")
    agree(processes, [&] {
      if (lost) throw ckpt::Error(ckpt::Kind::input, "rank_2.h5: missing");
    });
  if (lost && way == "killed") std::raise(SIGKILL);
  if (lost) throw ckpt::Error(ckpt::Kind::io, "failed alone");
  processes.sum(0);
}

/// An exception leaves this function: the communicator is destroyed while it is on its way.
void unwind(const std::string& way) {
  const auto processes = ckpt::mpi_world();
  try {
    lose(way, *processes);
  } catch (const ckpt::Error& error) {
    std::cerr << "rank " + std::to_string(processes->rank()) + ": " + error.what() + "\n";  // in one piece
    if (way == "abandons" && !processes->failed_together()) processes->abandon(7);
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    unwind(argc > 1 ? argv[1] : "");
  } catch (const ckpt::Error&) {
    return 1;
  }
  return 0;
}
