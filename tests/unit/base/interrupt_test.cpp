#include "base/interrupt.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

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

TEST_CASE("a signal is thrown where it is asked for, and the second one ends the program") {
  const int status = end_of([] {
    watch_interrupts();
    check_interrupt();
    std::raise(SIGINT);
    if (is_taken_down(Kind::interrupted)) std::raise(SIGTERM);
    return false;
  });
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
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
