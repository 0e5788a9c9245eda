#include "layout/placement/resolve.hpp"

#include <functional>

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

struct Refused {
  Kind kind = Kind::io;
  std::string text;
};

Refused refused(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {Kind::io, "nothing was thrown"};
}

Refused refused_source(const Layout& layout, const std::vector<CardArrays>& files) {
  return refused([&] { resolve_source(layout, files); });
}

Refused refused_target(const Layout& layout, const std::vector<Tensor>& tensors) {
  return refused([&] { resolve_target(layout, tensors); });
}

const Layout rows_over_4 = one_rule(R"(["tp"])", "[4]", R"("split": ["tp"])");

std::vector<CardArrays> four(Shape shape) {
  return cards(4, card({array("wq", shape)}));
}

StoredArray verbatim(std::string name) {
  StoredArray text = array(std::move(name), {}, text_type());
  text.verbatim = true;
  return text;
}

}  // namespace

TEST_CASE("logical shapes are found from what the cards store") {
  const auto shape = [](const std::string& keys, const std::vector<Shape>& stored) {
    std::vector<CardArrays> files;
    for (const Shape& each : stored) files.push_back(card({array("w", each)}));
    return resolve_source(one_rule(R"(["tp"])", format_list(std::vector<std::size_t>{stored.size()}), keys), files)
        .placement.tensors()[0]
        .shape;
  };
  CHECK(shape(R"("split": ["tp"])", {{2, 5}, {2, 5}}) == Shape{4, 5});
  CHECK(shape(R"("split": [null, "tp"], "permute": [1, 0])", {{2, 5}, {2, 5}}) == Shape{5, 4});
  CHECK(shape(R"("split": ["tp"], "uneven": "ceil")", {{3}, {3}, {3}, {1}}) == Shape{10});
  CHECK(shape(R"("split": ["tp"], "uneven": "balanced")", {{3}, {3}, {2}, {2}}) == Shape{10});
  CHECK(shape(R"("split": ["tp"], "sizes": {"0": [1, 4]})", {{1}, {4}}) == Shape{5});
  CHECK(shape(R"("split": ["tp"], "pad": {"0": {"size": 5}})", {{3}, {3}}) == Shape{5});
  CHECK(shape(R"("split": ["tp"], "parts": {"dim": 0, "count": 2}, "uneven": "ceil")", {{4}, {2}}) == Shape{6});
  CHECK(shape(R"("flat": {"axis": "tp"}, "shape": [3, 3])", {{5}, {5}}) == Shape{3, 3});
  CHECK(shape("", {{}, {}}) == Shape{});
  CHECK(shape(R"("split": ["tp"])", {{0, 3}, {0, 3}}) == Shape{0, 3});
}

TEST_CASE("an array may tell its logical shape itself") {
  StoredArray stored = array("w", {5});
  stored.global_shape = Shape{3, 3};
  const Layout flat = one_rule(R"(["dp"])", "[2]", R"("flat": {"axis": "dp"})");
  CHECK(resolve_source(flat, cards(2, card({stored}))).placement.tensors()[0].shape == Shape{3, 3});
  stored.global_shape = Shape{2, 5};
  const Layout ten = one_rule(R"(["dp"])", "[2]", R"("split": ["dp"])");
  const Refused error = refused_source(ten, cards(2, card({stored})));
  CHECK_THAT(error.text, Contains("a piece of [2, 5]") && Contains("expected [10], the logical shape that"));
}

TEST_CASE("what an earlier job left in a file, of which a piece was all, does not beat the layout") {
  StoredArray stored = array("w", {5});
  const auto resolved_by = [&](const std::string& more, std::uint64_t left) {
    stored.global_shape = Shape{left};
    return resolve_source(one_rule(R"(["dp"])", "[2]", R"("split": ["dp"])" + more), cards(2, card({stored})));
  };
  const auto check = [](const Resolved& resolved, const std::string& left) {
    CHECK(resolved.placement.tensors()[0].shape == Shape{10});
    REQUIRE(resolved.warnings.size() == 1);
    CHECK_THAT(resolved.warnings.front(), Contains("is " + left) && Contains("gives [10]"));
  };
  check(resolved_by("", 5), "[5]");
  // A piece of something larger: the layout may be that of some of the files. Who says the shape knows.
  CHECK_THAT(refused_source(one_rule(R"(["dp"])", "[2]", R"("split": ["dp"])"), cards(2, card({[&] {
                                                                                        stored.global_shape = Shape{20};
                                                                                        return stored;
                                                                                      }()})))
                 .text,
             Contains("a piece of [20]") && Contains(R"("shape": [10])"));
  check(resolved_by(R"(, "shape": [10])", 20), "[20]");
}

// --- the four things that a layout must satisfy

TEST_CASE("1: a parameter that a card lacks is named, with those who hold it") {
  auto files = four({2, 3});
  files[2] = card({});
  const Refused error = refused_source(rows_over_4, files);
  CHECK(error.kind == Kind::input);
  CHECK_THAT(error.text, Contains("rank_2.h5: /wq") && Contains("parameter 'wq' is missing") &&
                             Contains("expected [2, 3] of it on every card, as a.json") &&
                             Contains("cards that hold it: 0, 1, 3"));
}

TEST_CASE("1: a parameter that no rule speaks of is named") {
  const Layout of = layout(R"(["tp"])", "[1]", R"("parameters": [{"name": "wk"}])");
  const Refused error = refused_source(of, {card({array("wk", {1}), array("wq", {1})})});
  CHECK(error.kind == Kind::input);
  CHECK_THAT(error.text, Contains("rank_0.h5: /wq") && Contains("no rule of a.json matches parameter 'wq'"));
}

TEST_CASE("1: all parameters that no rule speaks of are listed at once, in groups") {
  std::vector<StoredArray> arrays{array("wk", {1}), array("bias", {1})};
  for (int i = 0; i < 12; ++i) arrays.push_back(array("layers." + std::to_string(i) + ".x1", {1}));
  const Layout of = layout(R"(["tp"])", "[1]", R"("parameters": [{"name": "wk"}])");
  CHECK(refused_source(of, {card(arrays)}).text ==
        "no rule of a.json matches 13 parameters (bias, layers.*.x1: 12 parameters), expected a rule for every "
        "parameter in the "
        "files; add one, or say \"default\": \"replicate\"");
  CHECK_THAT(refused_target(of, {tensor("wk", {1}), tensor("b.1", {1}), tensor("b.2", {1})}).text,
             Contains("matches 2 parameters (b.*: 2 parameters)"));
}

TEST_CASE("1: a parameter on cards where the layout has none is named") {
  const Layout of = one_rule(R"(["pp"])", "[2]", R"("at": {"pp": 0})");
  const Refused error = refused_source(of, cards(2, card({array("wq", {2})})));
  CHECK_THAT(error.text, Contains("rank_1.h5: /wq") && Contains("card 1 holds parameter 'wq'") &&
                             Contains("expected it on the cards at pp=0 only, as a.json says"));
}

TEST_CASE("2: another dtype on one card is named") {
  auto files = four({2, 3});
  files[3] = card({array("wq", {2, 3}, *number_type("bf16"))});
  const Refused error = refused_source(rows_over_4, files);
  CHECK_THAT(error.text, Contains("rank_3.h5: /wq: its dtype is bf16, expected f32, as in rank_0.h5"));
}

TEST_CASE("2: a stored shape that does not fit is named, with a guess at the reason") {
  auto files = four({512, 4096});
  files[1] = card({array("wq", {512, 4095})});
  const Refused odd = refused_source(rows_over_4, files);
  CHECK_THAT(odd.text,
             Contains("rank_1.h5: /wq: stored shape [512, 4095], expected [512, 4096] by a.json (logical [2048, "
                      "4096], dim 0 over tp=4)"));

  const Layout given = one_rule(R"(["tp"])", "[4]", R"("split": ["tp"], "shape": [4096, 4096])");
  const Refused halved = refused_source(given, four({512, 4096}));
  CHECK_THAT(halved.text, Contains("stored shape [512, 4096], expected [1024, 4096] by a.json") &&
                              Contains("was it saved with tp=8?"));
}

TEST_CASE("2: shards cut unevenly under exact are told by the word that fits") {
  const std::vector<CardArrays> files{card({array("w", {3})}), card({array("w", {3})}), card({array("w", {3})}),
                                      card({array("w", {1})})};
  const Refused error = refused_source(rows_over_4, files);
  CHECK_THAT(error.text, Contains("\"uneven\": \"ceil\"") && Contains("[3, 3, 3, 1]"));
}

TEST_CASE("3: shards that leave a gap or meet are refused") {
  const Layout of = one_rule(R"(["tp"])", "[4]", R"("split": ["tp"], "uneven": "ceil")");
  const auto of_rows = [](std::initializer_list<std::uint64_t> rows) {
    std::vector<CardArrays> files;
    for (const auto n : rows) files.push_back(card({array("w", {n})}));
    return files;
  };
  CHECK(resolve_source(of, of_rows({3, 3, 3, 1})).placement.tensors()[0].shape == Shape{10});
  CHECK_THAT(refused_source(of, of_rows({3, 3, 1, 3})).text,
             Contains("[3, 3, 1, 3]") && Contains("expected pieces of 10 elements as"));
  CHECK_THAT(refused_source(of, of_rows({3, 3, 2, 2})).text, Contains("\"uneven\": \"balanced\""));
}

TEST_CASE("3: an axis that cuts a parameter and is limited by at leaves a gap") {
  const Layout of = one_rule(R"(["tp"])", "[2]", R"("split": ["tp"], "at": {"tp": 0})");
  CHECK_THAT(refused_target(of, {tensor("w", {4})}).text,
             Contains("parameter 'w'") && Contains("cut over \"tp\" but lives only at [0]"));
  const Layout ceil = one_rule(R"(["tp"])", "[2]", R"("split": ["tp"], "uneven": "ceil", "at": {"tp": 0})");
  CHECK(shown(target(ceil, {tensor("w", {1})}), "w") == Words{"0", "absent"});  // the other shard is empty
  CHECK(shown(target(ceil, {tensor("w", {0, 5})}), "w") == Words{"", "absent"});
  const Layout flat = one_rule(R"(["dp"])", "[2]", R"("flat": {"axis": "dp"}, "at": {"dp": 1})");
  CHECK_THAT(refused_target(flat, {tensor("w", {4})}).text, Contains("lives only at [1]"));
}

// --- names

TEST_CASE("two arrays that become one parameter are shown") {
  const Layout renames = layout(
      R"(["tp"])", "[1]",
      R"("default": "replicate", "rename": [{"stored": "a.{x}", "name": "{x}"}, {"stored": "b.{x}", "name": "{x}"}])");
  CHECK_THAT(refused_source(renames, {card({array("a.w", {1}), array("b.w", {1})})}).text,
             Contains("\"a.w\" and \"b.w\" both become \"w\"") && Contains("/rename"));
  CHECK(resolve_source(renames, {card({array("a.w", {1}), array("b.v", {1})})}).placement.tensors().size() == 2);
}

TEST_CASE("a counted name beyond its stage's block is refused with the file") {
  const Layout of = layout(
      R"(["pp"])", "[2]",
      R"("default": "replicate", "indices": [{"in": "layers.{i}.*", "axis": "pp", "total": 4, "numbering": "local"}])");
  const CardArrays files = card({array("layers.0.w", {1}), array("layers.1.w", {1}), array("layers.2.w", {1})});
  CHECK_THAT(refused_source(of, cards(2, files)).text,
             Contains("rank_0.h5: ") && Contains("\"layers.2.w\" has the number 2"));
}

TEST_CASE("local layers become global ones") {
  const Layout of = layout(
      R"(["pp"])", "[2]",
      R"("default": "replicate", "indices": [{"in": "layers.{i}.*", "axis": "pp", "total": 4, "numbering": "local"}])");
  const Placement placement =
      resolve_source(of, cards(2, card({array("layers.0.w", {1}), array("layers.1.w", {1})}))).placement;
  std::vector<std::string> names;
  for (const Tensor& each : placement.tensors()) names.push_back(each.name);
  CHECK(names == Words{"layers.0.w", "layers.1.w", "layers.2.w", "layers.3.w"});
  CHECK_FALSE(placement.holds(0, placement.array_of(3)));
}

TEST_CASE("what a job does not keep is not checked") {
  auto files = four({2, 3});
  files[0] = card({array("wq", {2, 3}), array("junk", {7})});
  const auto keep = [](const std::string& name) { return name == "wq"; };
  const Resolved resolved = resolve_source(rows_over_4, files, keep);
  CHECK(resolved.placement.tensors().size() == 1);
  CHECK(resolved.warnings.empty());
}

// --- buckets

TEST_CASE("a bucket that no file holds is named") {
  const Layout of = layout(
      R"(["dp"])", "[2]",
      R"("default": "replicate", "buckets": [{"name": "flat", "axis": "dp", "members": [{"name": "a", "shape": [4]}]}])");
  CHECK_THAT(refused_source(of, cards(2, card({array("flta", {2})}))).text,
             Contains("no file holds bucket \"flat\"") && Contains("nearest names: flta"));
  CHECK_THAT(refused_source(of, cards(2, card({array("flat", {3})}))).text,
             Contains("stored shape [3], expected [2] by a.json"));
}

TEST_CASE("a bucket has one dtype and all its members") {
  const Layout of = layout(R"(["dp"])", "[1]", R"("buckets": [{"name": "flat", "axis": "dp", "members": [
                           {"name": "a", "shape": [4]}, {"name": "b", "shape": [1]}]}])");
  CHECK_THAT(refused_target(of, {tensor("a", {4}), tensor("b", {1}, *number_type("bf16"))}).text,
             Contains("its dtype is bf16") && Contains("expected f32, as of the bucket's other members"));
  CHECK_THAT(refused_target(of, {tensor("a", {4})}).text, Contains("which the checkpoint lacks") && Contains("\"b\""));
  CHECK_THAT(refused_target(of, {tensor("a", {5}), tensor("b", {1})}).text,
             Contains("its shape is [5], expected [4], as the bucket says"));
}

// --- the target

TEST_CASE("a target that cannot hold a tensor says why") {
  CHECK_THAT(
      refused_target(rows_over_4, {tensor("w", {10})}).text,
      Contains("parameter 'w' (a.json, rule \"*\"): dimension 0 of [10] over tp=4: 10 elements do not divide by 4") &&
          Contains("\"uneven\""));
  const Layout shape = one_rule(R"(["x"])", "[1]", R"("shape": [3])");
  CHECK_THAT(refused_target(shape, {tensor("w", {4})}).text,
             Contains("its shape is [4], expected [3], as the rule says"));
  const Layout pad = one_rule(R"(["x"])", "[1]", R"("pad": {"0": {"size": 3}})");
  CHECK_THAT(refused_target(pad, {tensor("w", {4})}).text, Contains("add up to 3"));
  CHECK(refused_target(pad, {tensor("w", {4})}).kind == Kind::layout);
  const Layout none = layout(R"(["x"])", "[1]", R"("parameters": [{"name": "v"}])");
  CHECK_THAT(refused_target(none, {tensor("w", {4})}).text, Contains("no rule of a.json matches parameter 'w'"));
}

TEST_CASE("a layout is wrong by itself, or contradicts the files") {
  const auto kind = [](const std::string& rest) {
    return refused_source(layout(R"(["tp"])", "[4]", rest), four({2, 2})).kind;
  };
  CHECK(kind(R"("parameters": [{"name": "wq", "split": [null, null, "tp"]}])") == Kind::input);
  CHECK(kind(R"("parameters": [{"name": "wq", "flat": {"axis": "tp"}}])") == Kind::input);
  CHECK(kind(R"("parameters": [{"name": "wq", "shape": [4, 4]}])") == Kind::input);
  CHECK(kind(R"("parameters": [{"name": "wq", "parts": {"dim": 0, "count": 3}}])") == Kind::input);
  CHECK(kind(R"("parameters": [{"name": "v"}])") == Kind::input);
  CHECK(kind(R"("parameters": [{"name": "wq", "like": "v"}])") == Kind::layout);
  CHECK(kind(R"("default": "replicate", "buckets": [
               {"name": "a", "axis": "tp", "members": [{"name": "m", "shape": [4]}]},
               {"name": "b", "axis": "tp", "members": [{"name": "m", "shape": [4]}]}])") == Kind::layout);
}

TEST_CASE("keys that only together name a dimension twice are refused") {
  const Layout of = layout(
      R"(["x"])", "[1]",
      R"("parameters": [{"name": "w", "pad": {"0": {"size": 4}}}, {"name": "m", "like": "w", "parts": {"dim": 0, "count": 2}}])");
  CHECK_THAT(
      refused_target(of, {tensor("m", {4})}).text,
      Contains(R"(found "parts" and "pad" for dimension 0, expected at most one of "sizes", "parts" and "pad")"));
  const Layout axes =
      layout(R"(["x"])", "[2]",
             R"("parameters": [{"name": "w", "split": ["x"]}, {"name": "m", "like": "w", "flat": {"axis": "x"}}])");
  CHECK_THAT(refused_target(axes, {tensor("m", {4})}).text,
             Contains("flat/axis: found the axis x, over which \"split\" cuts"));
}

TEST_CASE("two parameters of one name on one card are refused") {
  const Layout of = layout(
      R"(["pp"])", "[2]",
      R"("default": "replicate", "indices": [{"in": "layers.{i}.*", "axis": "pp", "total": 4, "numbering": "local"}],
                              "buckets": [{"name": "layers.0.w", "axis": "pp", "members": [{"name": "b", "shape": [2]}]}])");
  std::vector<Tensor> tensors{tensor("b", {2})};
  for (const char* number : {"0", "1", "2", "3"})
    tensors.push_back(tensor(std::string("layers.") + number + ".w", {1}));
  CHECK_THAT(refused_target(of, tensors).text, Contains("would both be stored as \"layers.0.w\" on one card"));
}

// --- values without fixed size

TEST_CASE("strings of any length are copied whole, never cut") {
  const Layout of =
      layout(R"(["tp"])", "[2]", R"("parameters": [{"name": "w", "split": ["tp"]}], "default": "replicate")");
  const Placement placement = resolve_source(of, cards(2, card({array("w", {2}), verbatim("note")}))).placement;
  CHECK(placement.tensors()[0].verbatim);
  CHECK(placement.tensors()[0].bytes() == 0);
  StoredArray lines = verbatim("w");
  lines.shape = {4};
  CHECK_THAT(refused_source(of, cards(2, card({lines}))).text, Contains("no fixed size"));
  CHECK_THAT(refused_source(of, {card({array("w", {2}), verbatim("note")}), card({array("w", {2})})}).text,
             Contains("parameter 'note' is missing"));
}
