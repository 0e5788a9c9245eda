#include "layout/maps/rule_changes.hpp"

#include <set>

#include "catch.hpp"

using namespace ckpt;

namespace {

/// What a rule's sides, as JSON, become by one-word changes.
std::set<std::string> changes_of(const std::string& a, const std::string& b) {
  const std::string text = R"({"ckpt_names": 1, "sides": ["a", "b"], "sizes": {"g": 2, "q": 3, "d": 4, "h": 5, "v": 7},
                              "tensors": [{"a": )" +
                           a + R"(, "b": )" + b + "}]}";
  const NameMap map = parse_name_map(text, "map.json", {});
  std::set<std::string> texts;
  for (const RuleChange& change : one_word_changes(map, 0)) texts.insert(change.text);
  return texts;
}

using Texts = std::set<std::string>;

}  // namespace

TEST_CASE("one-word changes exchange neighbours, pieces, dimensions and tensors", "[names]") {
  REQUIRE(changes_of(R"("w [g (q d | d), h]")", R"(["x [g q d, h]", "y [g d, h]"])") ==
          Texts{"w [(q d | d) g, h]", "w [(g q d | g d), h]", "w [g (d q | d), h]", "w [h, g (q d | d)]",
                "x [q g d, h]", "x [g d q, h]", "x [h, g q d]", "y [d g, h]", "y [h, g d]"});
  REQUIRE(changes_of(R"("w [(d | d), h]")", R"(["x [d, h]", "y [d, h]"])") ==
          Texts{"w [h, (d | d)]", "w [d (1 | 1), h]", "x [h, d]", "y [h, d]", "y [d, h]\", \"x [d, h]"});
}

TEST_CASE("changes take groups for a concatenation, and back", "[names]") {
  REQUIRE(changes_of(R"("w [(g q d | g d | g d), h]")", R"(["x [g q d, h]", "y [g d, h]", "z [g d, h]"])")
              .contains("w [g (q d | d | d), h]"));
  const auto back = changes_of(R"("w [g q (d | d), h]")", R"("x [(g q d | g q d), h]")");
  for (const char* text : {"w [g (q d | q d), h]", "w [(g q d | g q d), h]", "x [g (q d | q d), h]",
                           "x [g q (d | d), h]", "x [g q d (1 | 1), h]"})
    REQUIRE(back.contains(text));
}

TEST_CASE("changes keep labels, rows of one, padding and what has no shape", "[names]") {
  REQUIRE(changes_of(R"("w [(k: d | v: d), h]")", R"("x [(k: d | v: d), h]")") ==
          Texts{"w [(v: d | k: d), h]", "w [h, (k: d | v: d)]", "w [d (k: 1 | v: 1), h]", "x [(v: d | k: d), h]",
                "x [h, (k: d | v: d)]", "x [d (k: 1 | v: 1), h]"});
  REQUIRE(changes_of(R"("w [d (1 | 1)]")", R"(["x [d]", "y [d]"])") ==
          Texts{"w [(1 | 1) d]", "w [(d | d)]", "y [d]\", \"x [d]"});
  REQUIRE(changes_of(R"("w [(v | _), h]")", R"("x [v, h]")") == Texts{"w [h, (v | _)]", "x [h, v]"});
  REQUIRE(changes_of(R"("w")", R"("x")").empty());
}
