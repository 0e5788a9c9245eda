#include "cli/pipe.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "catch.hpp"
#include "fixtures.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Catch::Matchers::Contains;

namespace {

using Words = std::vector<std::string>;

std::string refusal(Verb verb, const Words& words) {
  const Program asked = program(verb);
  const auto error = caught([&] { check_pipe(asked, parse_options(asked, words)); });
  CHECK(error.kind == Kind::usage);
  return error.message;
}

}  // namespace

TEST_CASE("what cannot be written from its beginning to its end is refused") {
  CHECK_THAT(refusal(Verb::reshard, {"s", "-o", "-", "--cards", "2"}),
             Contains("-o -: the output is a directory of files"));
  CHECK_THAT(refusal(Verb::split, {"s", "-o", "-", "--layout", "b"}), Contains("directory of files"));
  CHECK_THAT(refusal(Verb::merge, {"s", "-o", "-", "--shard-size", "5GB"}), Contains("directory of files"));
  CHECK_THAT(refusal(Verb::merge, {"s", "-o", "-", "--resume"}), Contains("given with --resume"));
  CHECK_THAT(refusal(Verb::merge, {"s", "-o", "-", "--verify", "reread"}), Contains("given with --verify reread"));
  CHECK_THAT(refusal(Verb::merge, {"s", "-o", "-", "--report", "-"}),
             Contains("--report - would be written there, too"));
  const Program merge = program(Verb::merge);
  for (const Words& words : {Words{"s", "-o", "-"},
                             {"s", "-o", "named", "--report", "-"},
                             {"s", "-o", "-", "--report", "r"},
                             {"s", "-o", "-", "--report", "-", "--dry-run"}})
    CHECK_NOTHROW(check_pipe(merge, parse_options(merge, words)));
}

TEST_CASE("an output is a pipe where it is - or a named one") {
  const fixture::TemporaryDirectory folder;
  const std::string named = folder / "named";
  const std::string file = folder / "file";
  REQUIRE(::mkfifo(named.c_str(), 0600) == 0);
  fixture::write_text(file, "");
  const auto alone = single_process();
  const auto is_pipe = [&](Verb verb, const Words& words) {
    return writes_pipe(program(verb), parse_options(program(verb), words), *alone);
  };
  CHECK(is_pipe(Verb::merge, {"s", "-o", "-"}));
  CHECK(is_pipe(Verb::merge, {"s", "-o", named}));
  CHECK_FALSE(is_pipe(Verb::merge, {"s", "-o", file}));
  CHECK_FALSE(is_pipe(Verb::merge, {"s", "-o", named, "--shard-size", "1GB"}));
  CHECK_FALSE(is_pipe(Verb::merge, {"s", "-o", named, "--force"}));
  CHECK_FALSE(is_pipe(Verb::merge, {"s", "--dry-run"}));
  CHECK(is_pipe(Verb::reshard, {"s", "-o", "-", "--cards", "2"}));  // to be refused
  CHECK_FALSE(is_pipe(Verb::verify, {"a", "-"}));
}

TEST_CASE("a pipe is opened when it has a reader; a terminal and a closed output are refused") {
  const fixture::TemporaryDirectory folder;
  const std::string named = folder / "named";
  REQUIRE(::mkfifo(named.c_str(), 0600) == 0);
  char found = 0;
  std::thread reader([&] {
    const Fd end(::open(named.c_str(), O_RDONLY));
    if (::read(end.get(), &found, 1) != 1) found = '?';
  });
  const Fd pipe = open_pipe(named, Fd());
  CHECK(::write(pipe.get(), "x", 1) == 1);
  reader.join();
  CHECK(found == 'x');
  CHECK_THAT(caught([&] { open_pipe(folder / "absent", Fd()); }).message, Contains("absent: open: No such file"));
  CHECK_THAT(caught([] { open_pipe("-", Fd()); }).message, Contains("standard output: it is closed"));

  Fd controller(::posix_openpt(O_RDWR | O_NOCTTY));
  REQUIRE((controller && ::grantpt(controller.get()) == 0 && ::unlockpt(controller.get()) == 0));
  const auto terminal = [&](unsigned short columns) {
    Fd opened(::open(::ptsname(controller.get()), O_RDWR | O_NOCTTY));
    const winsize size{24, columns, 0, 0};
    REQUIRE(::ioctl(opened.get(), TIOCSWINSZ, &size) == 0);
    return opened;
  };
  CHECK_THAT(caught([&] { open_pipe("-", terminal(80)); }).message, Contains("standard output is a terminal"));
  CHECK(open_pipe("-", terminal(0)));  // mpirun's
}

TEST_CASE("standard output is taken: what is printed goes to standard error") {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  REQUIRE((::pipe(out.data()) == 0 && ::pipe(err.data()) == 0));
  const Fd old_out(::dup(STDOUT_FILENO));
  const Fd old_err(::dup(STDERR_FILENO));
  ::dup2(out[1], STDOUT_FILENO);
  ::dup2(err[1], STDERR_FILENO);
  Fd taken = take_standard_output();
  const bool are_written = ::write(STDOUT_FILENO, "said", 4) == 4 && ::write(taken.get(), "data", 4) == 4;
  ::close(STDOUT_FILENO);
  const bool is_none = !take_standard_output();
  ::dup2(old_out.get(), STDOUT_FILENO);
  ::dup2(old_err.get(), STDERR_FILENO);
  CHECK(are_written);
  CHECK(is_none);
  std::array<char, 8> text{};
  CHECK(::read(out[0], text.data(), text.size()) == 4);
  CHECK(std::string(text.data(), 4) == "data");
  CHECK(::read(err[0], text.data(), text.size()) == 4);
  CHECK(std::string(text.data(), 4) == "said");
  for (const int fd : {out[0], out[1], err[0], err[1]}) ::close(fd);
}
