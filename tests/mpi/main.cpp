#define CATCH_CONFIG_RUNNER
#include "mpi/main.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "catch.hpp"
#include "processes/communicator.hpp"

namespace {

ckpt::Communicator* world = nullptr;

/// Catch reports to standard output: every rank's goes to a buffer, and rank 0 prints its own and those of ranks that
/// failed.
int run_and_report(int argc, char** argv, ckpt::Communicator& processes) {
  std::ostringstream report;
  auto* standard_output = std::cout.rdbuf(report.rdbuf());
  const int failed = Catch::Session().run(argc, argv);
  std::cout.rdbuf(standard_output);
  const auto reports = processes.all_gather(failed != 0 ? report.str() : "");
  const auto verdict = static_cast<int>(processes.maximum(static_cast<std::uint64_t>(std::min(std::abs(failed), 255))));
  if (processes.rank() == 0) {
    if (failed == 0) std::cout << report.str();
    for (std::size_t p = 0; p < reports.size(); ++p)
      if (!reports[p].empty()) std::cout << "rank " << p << " of " << processes.size() << ":\n" << reports[p];
    std::cout.flush();
  }
  return verdict;
}

}  // namespace

namespace ckpt {

Communicator& test_world() {
  return *world;
}

}  // namespace ckpt

int main(int argc, char** argv) {
  const auto processes = ckpt::mpi_world();
  world = processes.get();
  return run_and_report(argc, argv, *processes);
}
