#include "base/interrupt.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

/// How a process of its own ends that does this, as waitpid says.
template <class Work>
int end_of(Work&& work) {
  const pid_t id = fork();
  if (id == 0) {
    std::signal(SIGINT, SIG_DFL);  // whatever this test's own parent has arranged
    std::signal(SIGTERM, SIG_DFL);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(id, &status, 0) == id);
  return status;
}

bool is_taken_down(Kind kind) {
  try {
    check_interrupt();
  } catch (const Error& error) {
    return error.kind() == kind;
  }
  return false;
}

}  // namespace

TEST_CASE("a signal is thrown where it is asked for, and one that comes a second later ends the program") {
  const int status = end_of([] {
    watch_interrupts();
    check_interrupt();
    std::raise(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(1010));
    if (is_taken_down(Kind::interrupted)) std::raise(SIGTERM);
    return false;
  });
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("signals that come at once count as one, as Slurm sends them at a time limit") {
  CHECK(end_of([] {
          watch_interrupts();
          for (const int number : {SIGTERM, SIGCONT, SIGTERM, SIGINT}) std::raise(number);
          return is_taken_down(Kind::terminated);
        }) == 0);
}

TEST_CASE("work that has lost what it depends on ends with the first reason") {
  CHECK(end_of([] {
          end_work(Error(Kind::peer, "process 1 (h2)"));
          end_work(Error(Kind::io, "later"));
          return is_taken_down(Kind::peer) && is_taken_down(Kind::peer);
        }) == 0);
}

TEST_CASE("SIGTERM is told from SIGINT") {
  CHECK(end_of([] {
          watch_interrupts();
          std::raise(SIGTERM);
          return is_taken_down(Kind::terminated);
        }) == 0);
}

TEST_CASE("a signal that is ignored stays so") {
  CHECK(end_of([] {
          std::signal(SIGINT, SIG_IGN);
          watch_interrupts();
          std::raise(SIGINT);
          check_interrupt();
          return true;
        }) == 0);
}

TEST_CASE("after the last check a signal stops nothing") {
  CHECK(end_of([] {
          watch_interrupts();
          check_interrupt_at_last();
          std::raise(SIGTERM);
          check_interrupt();
          return !is_interrupted();
        }) == 0);
}
