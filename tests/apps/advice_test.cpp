#include "cli/advice.hpp"

#include "catch.hpp"

using namespace ckpt;
using namespace ckpt::cli;

namespace {

/// The remedy of an error that has nothing but this advice.
std::string advised(Advice advice, const std::string& parameter = "") {
  return remedy(Error(Kind::input, "a.h5", {"it is odd", "", "", std::move(advice)}).of_parameter(parameter));
}

Manual program_of(const std::string& verb) {
  Manual program;
  program.verb = verb;
  program.name = "ckpt " + verb;
  return program;
}

}  // namespace

TEST_CASE("advice to leave out parameters names them, as a shell and --drop take them") {
  const Advice leave_out{Advice::What::leave_out, ""};
  CHECK(advised(leave_out, "layers.0.w") == "leave it out with --drop layers.0.w");
  CHECK(advised(leave_out, "a*b c") == "leave it out with --drop 'a[*]b c'");
  CHECK(advised(leave_out, "é") == "leave it out with --drop 'é'");
  CHECK(advised(leave_out) == "leave it out with --drop NAME");
  CHECK(advised(leaving_out({"b", "c[0]"}), "a") == "leave them out with --drop b --drop 'c[[]0]'");
  CHECK(advised(leaving_out({"1", "2", "3", "4", "5"})) == "leave them out with --drop GLOB");
  CHECK(advised(leaving_out({}), "a").empty());
}

TEST_CASE("advice offers no pattern for a name that cannot be typed: it could match another, too") {
  const Advice leave_out{Advice::What::leave_out, ""};
  CHECK(advised(leave_out, std::string("a\0b", 3)) == "leave it out with --drop GLOB");
  CHECK(advised(leave_out, "a\xff") == "leave it out with --drop GLOB");
  CHECK(advised(leaving_out({"a\nb"})) == "leave it out with --drop GLOB");
  CHECK(advised(leaving_out({"a\nb", "c"})) == "leave them out with --drop GLOB");
  CHECK(advised({Advice::What::rename, "a\x01"}) == "give another name with --rename OLD=NEW before any other");
}

TEST_CASE("advice to rename has the form that --rename takes") {
  CHECK(advised({Advice::What::rename, ""}) == "give another name with --rename OLD=NEW");
  CHECK(advised({Advice::What::rename, "w*"}) == "give another name with --rename 'w[*]'=NEW before any other");
  CHECK(advised({Advice::What::rename_or_leave_out, ""}, "w") ==
        "give it another name with --rename OLD=NEW, or leave it out with --drop w");
}

TEST_CASE("a program gives only the advice for which it has options") {
  const Error odd(Kind::input, "a.h5", {"it is odd", "", "", {Advice::What::leave_out, ""}});
  CHECK(message(odd, program_of("merge")) == "a.h5: it is odd; leave it out with --drop NAME");
  CHECK(message(odd, program_of("inspect")) == "a.h5: it is odd");
  CHECK(message(odd, program_of("draft")) == "a.h5: it is odd");
  const Error uncut(Kind::input, "a", {"it is odd", "", "", {Advice::What::give_layout, ""}});
  CHECK(message(uncut, program_of("inspect")) == "a: it is odd; give its layout with --layout");
  CHECK(message(uncut, program_of("split")) == "a: it is odd; give its layout with --layout beside --to");
}
