#include "checkpoint/whole_tensors.hpp"

#include <map>
#include <memory>

#include "catch.hpp"

using namespace ckpt;

namespace {

Layout layout_of(const std::string& rules, const std::string& mesh = R"({"axes": ["a"], "shape": [2]})") {
  return parse_layout(
      R"({"ckpt_layout": 1, "mesh": )" + mesh + R"(, "parameters": [)" + rules + R"(], "default": "replicate"})",
      "a.json");
}

CardArrays card(const std::map<std::string, Shape>& shapes) {
  std::vector<StoredArray> arrays;
  for (const auto& [name, shape] : shapes) arrays.push_back({name, *number_type("f32"), shape, std::nullopt, false});
  return std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
}

/// Cards hold the same of a name unless it is in `different`; all elements of one value where it is in `constant`.
struct Data {
  std::string different;
  std::string constant;
  mutable int reads = 0;

  SampleOf sample() const {
    return [this](std::uint64_t position, const std::string& name) {
      ++reads;
      StoredSample sample;
      sample.digest = name == different ? position : 7;
      sample.value = name == constant ? "0" : "";
      return std::optional(sample);
    };
  }
};

TEST_CASE("Files hold whole tensors where cards that are to differ have the same, and not one value only") {
  const Layout layout = layout_of(R"({"name": ["w", "zeros"], "split": ["a"]})");
  const std::vector<CardArrays> both{card({{"w", {4}}, {"zeros", {4}}, {"lr", {}}}),
                                     card({{"w", {4}}, {"zeros", {4}}, {"lr", {}}})};
  CHECK(hold_whole_tensors(layout, both, Data{"lr", "zeros"}.sample()));
  CHECK_FALSE(hold_whole_tensors(layout, both, Data{"w", "zeros"}.sample()));
  CHECK_FALSE(hold_whole_tensors(layout, both, Data{"zeros", ""}.sample()));
  const std::vector<CardArrays> zeros{card({{"zeros", {4}}}), card({{"zeros", {4}}})};
  CHECK_FALSE(hold_whole_tensors(layout, zeros, Data{"", "zeros"}.sample()));
  // What this process does not see tells nothing; nor do shapes that differ make a whole.
  CHECK_FALSE(hold_whole_tensors(layout, both, [](std::uint64_t, const std::string&) { return std::nullopt; }));
  const std::vector<CardArrays> uneven{card({{"w", {4}}}), card({{"w", {3}}})};
  CHECK_FALSE(hold_whole_tensors(layout, uneven, Data{}.sample()));
}

TEST_CASE("Where the plan tells the shape, no data is read") {
  const Layout layout = layout_of(R"({"name": "m.{x}", "like": "{x}"}, {"name": "w", "split": ["a"], "shape": [4]})");
  const Data data;
  const auto cards = [](std::uint64_t rows) {
    return std::vector<CardArrays>{card({{"w", {rows}}, {"m.w", {rows}}}), card({{"w", {rows}}, {"m.w", {rows}}})};
  };
  CHECK(hold_whole_tensors(layout, cards(4), data.sample()));
  CHECK_FALSE(hold_whole_tensors(layout, cards(2), data.sample()));
  CHECK(data.reads == 0);
}

TEST_CASE("Without its cuts a layout leaves everything on the cards that it was on") {
  const Layout cut = layout_of(R"({"name": "e", "split": ["a"], "at": {"pp": 0}},
      {"name": "v", "boxes": {"2": [[0, 1]], "3": [[1, 2]]}, "grid": [2]},
      {"name": "m.{x}", "like": "{x}"}, {"name": "w", "split": ["a"], "sizes": {"0": [1, 3]}, "shape": [4]})",
                               R"({"axes": ["pp", "a"], "shape": [2, 2]})");
  const Layout whole = without_cuts(cut);
  const Layout expected = layout_of(R"({"name": "e", "at": {"pp": 0}}, {"name": "v", "at": {"pp": 1}},
      {"name": "m.{x}", "like": "{x}"}, {"name": "w", "shape": [4]})",
                                    R"({"axes": ["pp", "a"], "shape": [2, 2]})");
  CHECK(to_json(whole) == to_json(expected));
}

}  // namespace
