// One process of several is lost in one of the ways that lost_rank.sh knows, while the others wait for it.
#include <chrono>
#include <csignal>
#include <iostream>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "processes/communicator.hpp"

namespace {

void lose(const std::string& way, ckpt::Communicator& processes) {
  const bool lost = processes.rank() == processes.size() - 1;
  if (way == "agrees")
    agree(processes, [&] {
      if (lost) throw ckpt::Error(ckpt::Kind::input, "rank_2.h5: missing");
    });
  processes.set_patience(std::chrono::seconds(2));
  if (lost && way == "killed") std::raise(SIGKILL);
  if (lost && way == "stopped") std::raise(SIGSTOP);
  if (way == "stopped" && processes.rank() == 1)  // it waits for nobody, and finds out all the same
    while (true) {
      ckpt::check_interrupt();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  if (way == "told") {  // as Slurm does when the time is up; one process does not come to agree
    for (const int number : {SIGTERM, SIGCONT, SIGTERM}) std::raise(number);
    if (lost) std::this_thread::sleep_for(std::chrono::seconds(60));
    agree(processes, ckpt::check_interrupt);
  }
  if (lost) throw ckpt::Error(ckpt::Kind::io, "failed alone");
  processes.sum(0);
}

/// Processes whose beats are all that is heard for longer than their patience.
void work_alone(ckpt::Communicator& processes) {
  processes.set_patience(std::chrono::seconds(2));
  std::this_thread::sleep_for(std::chrono::seconds(5 + (processes.rank() == 0 ? 2 : 0)));
  processes.sum(0);
}

/// An exception leaves this function: the communicator is destroyed while it is on its way.
void unwind(const std::string& way) {
  const auto processes = ckpt::mpi_world();
  try {
    way == "works" ? work_alone(*processes) : lose(way, *processes);
  } catch (const ckpt::Error& error) {
    std::cerr << "rank " + std::to_string(processes->rank()) + ": " + error.what() + "\n";  // in one piece
    if (way == "abandons" && !processes->failed_together()) processes->abandon(7);
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  ckpt::watch_interrupts();
  try {
    unwind(argc > 1 ? argv[1] : "");
  } catch (const ckpt::Error&) {
    return 1;
  }
  return 0;
}
