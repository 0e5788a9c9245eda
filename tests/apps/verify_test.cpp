#include <limits>

#include "catch.hpp"
#include "cli/job_options.hpp"
#include "fixtures.hpp"
#include "verify/render.hpp"
#include "verify/verify_program.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Catch::Matchers::Contains;

namespace {

std::string refusal(const std::vector<std::string>& words) {
  return caught([&] { parse_options(program(Verb::verify), words); }).message;
}

}  // namespace

TEST_CASE("ckpt-verify takes two checkpoints, each with its layout, or one") {
  const auto two = parse_options(program(Verb::verify), {"--from", "a.json", "A", "--to", "b.json", "B", "--json"});
  CHECK(two.source == "A");
  CHECK(two.output == "B");
  CHECK(two.source_layout == "a.json");
  CHECK(two.target_layout == "b.json");
  CHECK(two.json);
  CHECK(parse_options(program(Verb::verify), {"A"}).output.empty());
  CHECK(parse_options(program(Verb::verify), {"A", "B", "--drop", "c"}).unshared ==
        std::vector<std::string>{"--drop", "c"});
  CHECK_THAT(refusal({}), Contains("A: missing"));
  CHECK_THAT(refusal({"A", "B", "C"}), Contains("'C': one argument too many, expected one A, B"));
  CHECK_THAT(refusal({"A", "--to", "b.json"}), Contains("--to: given without B"));
  CHECK_THAT(refusal({"A", "B", "-o", "C"}), Contains("-o: unknown option"));
}

TEST_CASE("tolerances") {
  CHECK(parse_tolerance("1e-2").relative == 0.01);
  CHECK(parse_tolerance("1e-2").absolute == 0);
  CHECK(parse_tolerance("0,5").absolute == 5);
  for (const char* wrong : {"", "x", "1e-2x", "-1", "1,", "1,2,3", "nan", "inf", " 1"})
    CHECK(caught([&] { parse_tolerance(wrong); }).kind == Kind::usage);
}

TEST_CASE("differences as JSON: what is no number is null") {
  Difference difference{.what = Difference::What::elements,
                        .parameter = "w",
                        .a = "nan",
                        .b = "1",
                        .cards = {3},
                        .first = {0, 2},
                        .count = 1,
                        .compared = 8,
                        .copies = 1,
                        .largest = Distance{std::numeric_limits<double>::infinity(), 0.5}};
  const std::string text = comparison_json({"a", "b"}, {1, 32, {difference}}, Tolerance{0.5, 0});
  CHECK_THAT(text, Contains("\"same\": false"));
  CHECK_THAT(text, Contains("\"relative\": 0.5"));
  CHECK_THAT(text, Contains("\"largest_absolute\": null"));
  CHECK_THAT(text, Contains("\"largest_relative\": 0.5"));
}

TEST_CASE("damage as a table") {
  const Integrity found{2,
                        3,
                        0,
                        {{Damage::What::content, "rank_1.h5", "", {"w"}},
                         {Damage::What::content, "rank_2.h5", "", {}},
                         {Damage::What::swapped, "rank_3.h5", "rank_0.h5", {}}}};
  CHECK(integrity_text("dst", found, std::nullopt).text() ==
        "file       is       parameters\n"
        "rank_1.h5  changed  w\n"
        "rank_2.h5  changed              in metadata or padding\n"
        "rank_3.h5  swapped              it holds what rank_0.h5 should\n"
        "\n"
        "dst is not as it was written: 2 files, 3 parameters\n");
}
