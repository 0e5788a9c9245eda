#include "base/error.hpp"

#include <cerrno>

#include "catch.hpp"

using namespace ckpt;

TEST_CASE("a message is object, found, expected and remedy, as far as they are given") {
  const auto text = [](const char* object, const char* found, const char* expected, const char* remedy) {
    return std::string(Error(Kind::input, object, {found, expected, remedy}).what());
  };
  CHECK(text("rank_3.h5: /wq", "stored shape [2]", "[4]", "was it saved with tp=8?") ==
        "rank_3.h5: /wq: stored shape [2], expected [4]; was it saved with tp=8?");
  CHECK(text("a.h5", "gone", "", "") == "a.h5: gone");
  CHECK(text("", "3", "4", "") == "3, expected 4");
  CHECK(text("a.h5", "gone", "", "copy it") == "a.h5: gone; copy it");
}

TEST_CASE("context is put in front on the way up") {
  try {
    with_context("rank_0.h5", [] { with_context("/w", []() -> int { throw Error(Kind::layout, "3 dimensions"); }); });
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "rank_0.h5: /w: 3 dimensions");
    CHECK(error.kind() == Kind::layout);
  }
  CHECK(with_context("here", [] { return 42; }) == 42);
}

TEST_CASE("what can be done is put behind on the way up") {
  Error error(Kind::io, "a.h5: write: No space left on device");
  CHECK(std::string(error.advise("go on with --resume").what()) ==
        "a.h5: write: No space left on device; go on with --resume");
}

TEST_CASE("a failed system call is told with its reason") {
  const Error error = system_error("out/rank_0.h5", "cannot be written", ENOSPC, "free some space");
  CHECK(error.kind() == Kind::io);
  CHECK(std::string(error.what()) == "out/rank_0.h5: cannot be written: No space left on device; free some space");
}

TEST_CASE("an advice comes after the one that there is") {
  Error error(Kind::io, "", {"out of memory", "", "", {Advice::What::less_memory, ""}});
  error.advise("half of it is written", {Advice::What::resume_or_restart, ""});
  CHECK(error.text().advice.what == Advice::What::less_memory);
  CHECK(error.next_advice().what == Advice::What::resume_or_restart);
}

TEST_CASE("an error's file and parameter are those that were known first") {
  const auto work = []() -> int { throw Error(Kind::input, "cut short"); };
  try {
    with_file("b.h5", [&] { return with_file("a.h5", [&] { return with_parameter("w", work); }); });
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.file() == "a.h5");
    CHECK(error.parameter() == "w");
    CHECK(std::string(error.what()) == "b.h5: a.h5: cut short");
  }
}
