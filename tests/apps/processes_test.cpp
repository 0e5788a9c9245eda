#include "cli/processes.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <future>
#include <new>
#include <thread>

#include "base/late_notice.hpp"
#include "catch.hpp"
#include "cli/layout_text.hpp"
#include "cli/wait.hpp"
#include "fixtures.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Catch::Matchers::Contains;

namespace {

int status_when_throwing(const std::function<void()>& work) {
  Manual program;
  program.name = "ckpt-test";
  return run_processes(program, {}, [&](Communicator& processes) {
    agree(processes, work);
    return 0;
  });
}

}  // namespace

TEST_CASE("the kind of an error decides the exit status") {
  CHECK(status_when_throwing([] {}) == 0);
  CHECK(status_when_throwing([] { throw Error(Kind::usage, "expected by this test"); }) == 2);
  CHECK(status_when_throwing([] { throw Error(Kind::layout, "expected by this test"); }) == 2);
  CHECK(status_when_throwing([] { throw Error(Kind::input, "expected by this test"); }) == 1);
  CHECK(status_when_throwing([] { throw Error(Kind::io, "expected by this test"); }) == 1);
  CHECK(status_when_throwing([] { throw Error(Kind::peer, "expected by this test"); }) == 75);
  CHECK(status_when_throwing([] { throw system_error("a", "write", ENOSPC); }) == 75);
  CHECK(status_when_throwing([] { throw system_error("a", "write", EIO); }) == 1);
  CHECK(status_when_throwing([] { throw Error(Kind::io, "expected by this test").passing(); }) == 75);
  CHECK(status_when_throwing([] { throw Error(Kind::interrupted, "expected by this test"); }) == 130);
  CHECK(status_when_throwing([] { throw Error(Kind::terminated, "expected by this test"); }) == 143);
  CHECK(status_when_throwing([] { throw std::bad_alloc(); }) == 1);
}

TEST_CASE("who is to go alone says so by a word or by the environment") {
  const std::vector<std::string> words{"src", "--alone"};
  const std::vector<std::string> others{"src"};
  CHECK(is_to_go_alone(words));
  CHECK_FALSE(is_to_go_alone(others));
  for (const auto& [value, is_alone] : {std::pair{"1", true}, {"0", false}, {"", false}}) {
    setenv("CKPT_ALONE", value, 1);
    CHECK(is_to_go_alone(others) == is_alone);
  }
  setenv("CKPT_ALONE", "yes", 1);
  CHECK_THAT(caught([&] { is_to_go_alone(others); }).message, Contains("CKPT_ALONE: 'yes', expected 1 or 0"));
  unsetenv("CKPT_ALONE");
}

TEST_CASE("a notice is said when its time is over, and not where it is taken back before") {
  std::promise<void> said;
  {
    const LateNotice late(std::chrono::milliseconds(0), [&] { said.set_value(); });
    said.get_future().wait();
  }
  bool is_said = false;
  {
    const LateNotice early(std::chrono::hours(1), [&] { is_said = true; });
  }
  CHECK_FALSE(is_said);
}

TEST_CASE("a wait ends when the file is there") {
  const fixture::TemporaryDirectory scratch;
  std::ofstream(scratch / "done") << "";
  const auto alone = single_process();
  CHECK_NOTHROW(wait_for({scratch / "done", {}}, Seconds(0), *alone));
  std::thread writer([&] { std::ofstream(scratch / "later") << ""; });
  CHECK_NOTHROW(wait_for({scratch / "later", {}}, std::nullopt, *alone));
  writer.join();
}

TEST_CASE("a wait that is too long names the file and the time") {
  const auto alone = single_process();
  const auto error = caught([&] { wait_for({"never.done", {}}, Seconds(0.05), *alone); });
  CHECK(error.kind == Kind::io);
  CHECK_THAT(error.message, Contains("never.done: not there after 0.05 s"));
}

TEST_CASE("a wait's limit is a time") {
  CHECK(parse_wait_timeout("0").count() == 0);
  CHECK(parse_wait_timeout("2.5").count() == 2.5);
  CHECK(parse_wait_timeout("01:00:00").count() == 3600);
  for (const char* text : {"", "-1", "soon", "nan", "inf", "1e10", "3 s"})
    CHECK_THAT(caught([&] { parse_wait_timeout(text); }).message,
               Contains("--wait-timeout: '" + std::string(text) + "'"));
}

TEST_CASE("a layout that cannot be read is a layout error that names its file") {
  const fixture::TemporaryDirectory scratch;
  const auto alone = single_process();
  const auto missing = caught([&] { read_layout(scratch / "a.json", "", *alone); });
  CHECK(missing.kind == Kind::layout);
  CHECK_THAT(missing.message, Contains("a.json: layout cannot be read: No such file or directory"));
  const auto folder = caught([&] { read_layout(scratch / "", "", *alone); });
  CHECK(folder.kind == Kind::layout);
  CHECK_THAT(folder.message, Contains("a directory without strategy files, expected a layout"));
}

TEST_CASE("a checkpoint given for a layout is refused before it fills the memory") {
  const auto alone = single_process();
  const auto error = caught([&] { read_layout("/dev/zero", "", *alone); });
  CHECK(error.kind == Kind::layout);
  CHECK_THAT(error.message, Contains("larger than 64.0 MiB"));
}
