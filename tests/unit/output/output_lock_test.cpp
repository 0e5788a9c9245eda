#include "output/output_lock.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"
#include "output/lock_token.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

struct Place {
  TemporaryDirectory directory;
  fs::path file = directory / "out.partial.lock";
  fs::path output = directory / "out.partial";

  OutputLock take() const { return OutputLock::take(file, output); }
  bool is_refused() const {
    bool take_says = false;
    try {
      const OutputLock lock = take();
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Contains("another job is writing it"));
      CHECK(error.may_pass());
      take_says = true;
    }
    bool look_says = false;
    try {
      OutputLock::check_free(file, output);
    } catch (const Error&) {
      look_says = true;
    }
    CHECK(take_says == look_says);
    return take_says;
  }
};

std::string with(const std::string& token, const char* key, const std::string& value) {
  auto json = nlohmann::ordered_json::parse(token);
  json[key] = value;
  return json.dump() + "\n";
}

}  // namespace

TEST_CASE("a lock is one job's until its last process lets go, and leaves no file") {
  const Place place;
  {
    OutputLock first = place.take();
    CHECK(first.is_held());
    CHECK(place.is_refused());
    OutputLock second = OutputLock::join(place.file, place.output, first.token());
    OutputLock third = OutputLock::join(place.file, place.output, first.token());
    first.release();
    CHECK(place.is_refused());
    third.release();
    CHECK(place.is_refused());
    CHECK(fs::exists(place.file));
    second.release();
    CHECK_FALSE(fs::exists(place.file));
  }
  CHECK_FALSE(place.is_refused());
  CHECK_FALSE(fs::exists(place.file));
}

TEST_CASE("what a dead process has left is taken over; another process of its job that lives is found") {
  const Place place;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const auto start = [&](const std::string& token) {
    const pid_t child = ::fork();
    if (child == 0) {
      const OutputLock lock = token.empty() ? place.take() : OutputLock::join(place.file, place.output, token);
      static_cast<void>(::write(ready[1], "x", 1));
      for (;;) ::pause();
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    return child;
  };
  const auto kill = [](pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  };
  const pid_t first = start("");
  const pid_t second = start(read_text(place.file));
  CHECK(place.is_refused());
  kill(first);
  CHECK(place.is_refused());
  kill(second);
  CHECK(fs::exists(place.file));
  CHECK_FALSE(place.is_refused());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("whoever waits for a lock is told what may be known of its holder") {
  const Place place;
  const auto said = [&](const char* key, const std::string& value) {
    const OutputLock lock = place.take();
    write_text(place.file, with(lock.token(), key, value));
    try {
      OutputLock::check_free(place.file, place.output);
    } catch (const Error& error) {
      CHECK(error.may_pass());
      fs::remove(place.file);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(said("host", "node7"), Contains(" on host node7, since ") && Contains("and try again; or choose"));
  CHECK_THAT(said("started", "1"), Contains("that process has, but others of the job have not"));
  CHECK_THAT(said("numbers", "another boot"), Contains("a file server keeps the lock of a lost host"));
}

TEST_CASE("of many that come at once, one has the lock at a time") {
  const Place place;
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> had{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) try {
          const OutputLock lock = place.take();
          most = std::max<int>(most, ++inside);
          ++had;
          if (!lock.is_held()) most = 99;
          --inside;
        } catch (const Error&) {
        }
    });
  for (auto& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(had > 0);
  CHECK_FALSE(fs::exists(place.file));
}

TEST_CASE("a lock whose file is gone or another's is not held any more") {
  for (const bool replaced : {false, true}) {
    const Place place;
    const OutputLock lock = place.take();
    fs::remove(place.file);
    CHECK_FALSE(lock.is_held());
    if (!replaced) continue;
    const OutputLock other = place.take();
    CHECK_FALSE(lock.is_held());
    CHECK(other.is_held());
  }
}

TEST_CASE("nobody's file is taken for a lock") {
  const Place place;
  write_text(place.file, "my notes");
  CHECK_THROWS_WITH(place.take(), Contains("it is no lock of these programs"));
  CHECK_THROWS_WITH(OutputLock::check_free(place.file, place.output), Contains("it is no lock of these programs"));
  CHECK(read_text(place.file) == "my notes");
  fs::remove(place.file);
  ::mkfifo(place.file.c_str(), 0600);
  CHECK_THROWS_WITH(place.take(), Contains("it is no lock of these programs"));
  fs::remove(place.file);
  write_text(place.directory / "notes", "");
  fs::create_symlink("notes", place.file);
  CHECK_THROWS_AS(place.take(), Error);
  CHECK_THROWS_AS(OutputLock::join(place.file, place.output, new_token()), Error);
}

TEST_CASE("a process that does not see the lock of its own job says so") {
  const Place place;
  CHECK_THROWS_WITH(OutputLock::join(place.file, place.output, new_token()), Contains("all processes share"));
  const OutputLock lock = place.take();
  CHECK_THROWS_WITH(OutputLock::join(place.file, place.output, new_token()), Contains("all processes share"));
}

TEST_CASE("a token tells whether its process lives, where that can be seen") {
  const std::string mine = new_token();
  CHECK(is_token(mine));
  CHECK(is_alive(mine) == true);
  CHECK_THAT(holder_in(mine), Contains("process " + std::to_string(::getpid()) + " on host ") && Contains(", since 2"));
  CHECK(is_alive(with(mine, "started", "1")) == false);  // the number has gone to another process
  CHECK(is_alive(with(mine, "process", "999999999")) == false);
  CHECK_FALSE(is_alive(with(mine, "numbers", "another machine")).has_value());
  CHECK_FALSE(is_alive("").has_value());
  CHECK_FALSE(is_token("{}"));
  const std::string dead = with(mine, "started", "1");
  CHECK(is_alive(dead + mine) == true);  // process 0 has ended, another one has not
  CHECK(is_alive(dead + dead) == false);
  CHECK_FALSE(is_alive(dead + with(mine, "numbers", "another machine")).has_value());
  CHECK(holder_in(dead + mine) == holder_in(dead));
}
