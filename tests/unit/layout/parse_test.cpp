#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "layout/language/layout.hpp"

using namespace ckpt;

namespace {

using Numbers = std::vector<std::uint64_t>;

/// A layout on a 2 × 4 mesh of dp and tp with more top-level keys.
Layout with(const std::string& more) {
  return parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["dp", "tp"], "shape": [2, 4]}, )" + more + "}", "a.json");
}

Rule rule(const std::string& keys) {
  return with(R"("parameters": [{"name": "{x}.w", )" + keys + "}]").parameters.front();
}

TEST_CASE("the spec's example") {
  const auto layout = parse_layout(R"({
  "ckpt_layout": 1,
  "mesh": { "axes": ["dp", "tp"], "shape": [8, 8] },
  "files": "rank_{card}.h5",
  "parameters": [
    { "name": "moments.{param}",      "like": "{param}" },
    { "name": "*.qkv.weight",         "split": ["tp"], "parts": { "dim": 0, "sizes": [4096, 1024, 1024] } },
    { "name": "*.proj.weight",        "split": [null, "tp"] },
    { "name": "embedding.weight",     "split": [["dp", "tp"], null], "uneven": "balanced" }
  ],
  "default": "replicate"
})",
                                   "a.json");
  CHECK(layout.origin == "a.json");
  CHECK(layout.mesh == Mesh{{"dp", "tp"}, {8, 8}, {}});
  CHECK(layout.files.path(layout.mesh, 63) == "rank_63.h5");
  REQUIRE(layout.parameters.size() == 4);
  CHECK(layout.parameters[0].names.front().text() == "moments.{param}");
  CHECK(layout.parameters[0].like->text() == "{param}");
  CHECK_FALSE(layout.parameters[0].keys.split.has_value());
  CHECK(*layout.parameters[1].keys.split == std::vector<std::vector<Axis>>{{1}});
  CHECK(layout.parameters[1].keys.parts->dim == 0);
  CHECK(layout.parameters[1].keys.parts->sizes == Numbers{4096, 1024, 1024});
  CHECK(layout.parameters[1].keys.parts->count == 0);
  CHECK(*layout.parameters[2].keys.split == std::vector<std::vector<Axis>>{{}, {1}});
  CHECK(*layout.parameters[3].keys.split == std::vector<std::vector<Axis>>{{0, 1}, {}});
  CHECK(*layout.parameters[3].keys.uneven == Uneven::balanced);
  CHECK(layout.default_rule == Default::replicate);
}

TEST_CASE("a layout of nothing but a mesh has the spec's defaults") {
  const auto layout = parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["card"], "shape": [1]}})", "a.json");
  CHECK(layout.files.entries().front().path.text() == "rank_{card}.h5");
  CHECK(layout.default_rule == Default::error);
  CHECK(layout.parameters.empty());
  CHECK(layout.rename.empty());
  CHECK(layout.indices.empty());
  CHECK(layout.buckets.empty());
}

TEST_CASE("cards are kept unless they are the positions themselves") {
  const auto cards = [](const std::string& list) {
    return parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["a"], "shape": [3], "cards": )" + list + "}}", "a")
        .mesh;
  };
  CHECK(cards("[2, 0, 1]").cards == Numbers{2, 0, 1});
  CHECK(cards("[32, 33, 34]").card(1) == 33);
  CHECK(cards("[0, 1, 2]").cards.empty());
  CHECK(cards("[0, 1, 18446744073709551615]").card(2) == 18446744073709551615U);
}

TEST_CASE("the keys of a rule") {
  CHECK_FALSE(rule(R"("split": [])").keys.split);  // as without it
  CHECK(*rule(R"("uneven": "ceil")").keys.uneven == Uneven::ceil);
  CHECK(rule(R"("split": ["tp"], "sizes": {"0": [3, 1, 4, 0]})").keys.sizes->at(0) == Numbers{3, 1, 4, 0});
  CHECK(rule(R"("split": [["tp", "dp"]], "sizes": {"0": [1, 1, 1, 1, 2, 2, 2, 2]})").keys.sizes->at(0).size() == 8);
  CHECK(rule(R"("parts": {"dim": 31, "count": 2})").keys.parts->count == 2);
  const auto pad =
      rule(R"("pad": {"0": {"size": 50257, "multiple_of": 128, "fill": "edge"}, "1": {"size": 0}})").keys.pad;
  CHECK(pad->at(0).size == 50257);
  CHECK(pad->at(0).multiple_of == 128);
  CHECK(pad->at(0).fill == Fill::edge);
  CHECK(pad->at(1).multiple_of == 1);
  CHECK(pad->at(1).fill == Fill::zero);
  CHECK(rule(R"("flat": {"axis": "dp"})").keys.flat->multiple_of == 1);
  CHECK(rule(R"("flat": {"axis": "tp", "multiple_of": 7}, "split": ["dp"])").keys.flat->axis == 1);
  CHECK(*rule(R"("shape": [4, 0, 9223372036854775808, 4])").keys.shape == Numbers{4, 0, 9223372036854775808U, 4});
  CHECK(rule(R"("shape": [])").keys.shape->empty());
  CHECK(*rule(R"("permute": [2, 0, 1])").keys.permute == std::vector<std::size_t>{2, 0, 1});
  CHECK(rule(R"("permute": [])").keys.permute->empty());
  CHECK(*rule(R"("at": {"tp": [3, 0], "dp": 1})").keys.at == At{{0, {1}}, {1, {0, 3}}});
  CHECK_FALSE(rule(R"("at": {})").keys.at);
  CHECK(*rule(R"("at": {"tp": "last", "dp": [0, "last"]})").keys.at == At{{0, {0, 1}}, {1, {3}}});
  CHECK(*rule(R"("split": [[], ["tp"]])").keys.split == std::vector<std::vector<Axis>>{{}, {1}});
  CHECK(*rule(R"("replicas": "first")").keys.replicas == Replicas::first);
}

TEST_CASE("keys of different dimensions stand side by side") {
  const auto keys = rule(R"("split": ["dp", "tp"], "sizes": {"0": [3, 1]}, "pad": {"1": {"size": 9}}, )"
                         R"("parts": {"dim": 2, "count": 3}, "shape": [4, 9, 6], "permute": [2, 1, 0])")
                        .keys;
  CHECK(keys.sizes->size() == 1);
  CHECK(keys.pad->size() == 1);
  CHECK(keys.parts->dim == 2);
}

TEST_CASE("keys beside like override, and are checked only against each other") {
  const auto borrowing = rule(R"("like": "{x}", "sizes": {"0": [3, 1, 4, 0]}, "uneven": "exact", "replicas": "first")");
  CHECK(borrowing.like->fill({{"x", "a"}}) == "a");
  CHECK(*borrowing.keys.uneven == Uneven::exact);
  CHECK(rule(R"("like": "{x}", "pad": {"0": {"size": 3}})").keys.pad->size() == 1);
}

TEST_CASE("like may lead to a rule further on or before, but not in a circle") {
  CHECK(with(R"("parameters": [{"name": "a", "like": "b"}, {"name": "b", "like": "c"}, {"name": "c"}])")
            .parameters.size() == 3);
  CHECK(with(R"("parameters": [{"name": "m.{x}", "like": "{x}"}, {"name": "v.{x}", "like": "m.{x}"}])")
            .parameters.size() == 2);
  // The earlier rule decides "a", so the later ones of that name don't close a circle.
  CHECK(with(R"("parameters": [{"name": "[a-b]"}, {"name": "b", "like": "a"}, {"name": "a", "like": "b"}])")
            .parameters.size() == 3);
}

TEST_CASE("names may be a list") {
  const auto names = with(R"("parameters": [{"name": ["a.{x}", "{x}.b"], "like": "{x}"}])").parameters.front().names;
  REQUIRE(names.size() == 2);
  CHECK(names[1].text() == "{x}.b");
}

TEST_CASE("rename") {
  const auto layout =
      with(R"("rename": [{"stored": "module.{x}", "name": "{x}"}, {"stored": "{a}_{b}", "name": "{b}/{a}/{b}"}])");
  REQUIRE(layout.rename.size() == 2);
  CHECK(layout.rename[0].stored.match("module.w")->at("x") == "w");
  CHECK(layout.rename[1].name.fill({{"a", "1"}, {"b", "2"}}) == "2/1/2");
}

TEST_CASE("indices") {
  const auto layout = with(R"("indices": [
    {"in": "decoder.layers.{i}.*", "axis": "dp", "total": 48, "numbering": "local", "virtual": 2},
    {"in": "*.experts.{i}.*", "axis": "tp", "counts": [11, 12, 12, 13]},
    {"in": "*.blocks.{i}", "axis": "tp", "counts": [0, 1, 1, 0], "total": 2, "numbering": "global"}])");
  REQUIRE(layout.indices.size() == 3);
  CHECK(layout.indices[0].in.find("decoder.layers.12.w", "i")->text == "12");
  CHECK_FALSE(layout.indices[0].in.matches("decoder.layers.x.w"));
  CHECK(layout.indices[0].total == 48);
  CHECK(layout.indices[0].numbering == Numbering::local);
  CHECK(layout.indices[0].virtual_chunks == 2);
  CHECK(layout.indices[1].total == 48);
  CHECK(layout.indices[1].numbering == Numbering::global);
  CHECK(layout.indices[1].counts == Numbers{11, 12, 12, 13});
  CHECK(layout.indices[1].virtual_chunks == 1);
  CHECK(layout.indices[2].total == 2);
}

TEST_CASE("buckets") {
  const auto layout = with(R"("buckets": [
    {"name": "fp32_flat.0", "axis": "dp", "align": 64, "multiple_of": 128, "at": {"tp": [1, 0]},
     "members": [{"name": "w2", "shape": [70]}, {"name": "b1", "shape": [10, 4], "split": [null, "tp"], "permute": [1, 0]}]},
    {"name": "fp32_flat.0", "axis": "dp", "at": {"tp": 3}, "members": [{"name": "w2", "shape": []}]}])");
  REQUIRE(layout.buckets.size() == 2);
  const auto& bucket = layout.buckets[0];
  CHECK(bucket.axis == 0);
  CHECK(bucket.align == 64);
  CHECK(bucket.multiple_of == 128);
  CHECK(*bucket.at == At{{1, {0, 1}}});
  REQUIRE(bucket.members.size() == 2);
  CHECK(*bucket.members[1].keys.shape == Numbers{10, 4});
  CHECK(*bucket.members[1].keys.split == std::vector<std::vector<Axis>>{{}, {1}});
  CHECK(layout.buckets[1].align == 1);
  CHECK(layout.buckets[1].multiple_of == 1);
}

TEST_CASE("a million cards are parsed in a moment") {
  std::string cards;
  for (int i = 0; i < 1 << 20; ++i) cards.append(i == 0 ? "" : ",").append(std::to_string((i * 7 + 3) % (1 << 20)));
  const auto text =
      R"({"ckpt_layout": 1, "mesh": {"axes": ["a", "b"], "shape": [1024, 1024], "cards": [)" + cards + "]}";
  CHECK(parse_layout(text + "}", "a.json").mesh.size() == 1 << 20);
  CHECK(parse_layout(text + R"(, "files": "{a}{card}{b:04}"})", "a.json").mesh.card(1) == 10);
}

TEST_CASE("a layout on another mesh") {
  const auto layout = parse_layout(
      R"({"ckpt_layout": 1, "mesh": {"axes": ["dp", "tp"], "shape": [8, 8], "cards": [)" +
          [] {
            std::string cards;
            for (int i = 63; i >= 0; --i) cards += std::to_string(i) + (i == 0 ? "" : ",");
            return cards;
          }() +
          R"(]}, "files": "r{dp}_{tp}.h5", "parameters": [{"name": "w", "split": [["dp", "tp"]], "uneven": "ceil"}],
    "default": "replicate"})",
      "a.json");
  const auto changed = on_mesh(layout, {{"dp", 7}}, "--to-mesh");
  CHECK(changed.origin == "--to-mesh");
  CHECK(changed.mesh == Mesh{{"dp", "tp"}, {7, 8}, {}});
  CHECK(changed.files.path(changed.mesh, 9) == "r1_1.h5");
  CHECK(*changed.parameters.front().keys.split == *layout.parameters.front().keys.split);
  CHECK(on_mesh(layout, {}, "x").mesh.cards.empty());

  const auto kind_of = [](const Layout& from, const std::map<std::string, std::uint64_t>& sizes,
                          const std::string& message) {
    try {
      on_mesh(from, sizes, "--to-mesh");
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Catch::Matchers::Contains(message));
      return error.kind();
    }
    FAIL("no error");
    return Kind::io;
  };
  CHECK(kind_of(layout, {{"pp", 2}}, R"(--to-mesh pp=2: a.json has no axis "pp", expected one of its axes: dp, tp)") ==
        Kind::usage);
  CHECK(kind_of(layout, {{"dp", 0}}, "found size 0") == Kind::usage);
  CHECK(kind_of(layout, {{"dp", 1U << 20}}, "--to-mesh: /mesh/shape: found 8388608 cards") == Kind::layout);
  const auto sized = with(R"("parameters": [{"name": "w", "split": ["dp"], "sizes": {"0": [1, 2]}}])");
  CHECK(kind_of(sized, {{"dp", 3}},
                "--to-mesh: rule \"w\" of a.json has 2 sizes for dimension 0, expected 3 on a mesh of dp=3") ==
        Kind::layout);
}

TEST_CASE("\"last\" follows the mesh, and the numbers beside it stay") {
  const auto layout = with(R"("parameters": [{"name": "w", "at": {"tp": [0, "last"]}}],
              "buckets": [{"name": "flat", "axis": "dp", "at": {"tp": "last"}, "members": [{"name": "a", "shape": [1]}]}])");
  const auto one = on_mesh(layout, {{"tp", 1}}, "--to-mesh");
  CHECK(*one.parameters[0].keys.at == At{{1, {0}}});
  CHECK(*one.buckets[0].at == At{{1, {0}}});
  const auto six = on_mesh(one, {{"tp", 6}}, "--to-mesh");
  CHECK(*six.parameters[0].keys.at == At{{1, {0, 5}}});
  CHECK(*six.buckets[0].at == At{{1, {5}}});
}

TEST_CASE("another mesh that the rules do not fit is refused in the words of the rule") {
  const auto refusal = [](const std::string& more, const std::map<std::string, std::uint64_t>& sizes) {
    try {
      on_mesh(with(more), sizes, "--to-mesh");
    } catch (const Error& error) {
      CHECK(error.kind() == Kind::layout);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(refusal(R"("parameters": [{"name": "w", "boxes": {"0": [[0, 3]], "7": [[3, 4]]}}])", {{"dp", 1}}) ==
        "--to-mesh: rule \"w\" of a.json has a box for card 7, expected boxes for cards below 4; boxes are for one "
        "mesh alone: "
        "give "
        "a layout for the other, or say \"split\" instead");
  CHECK(refusal(R"("parameters": [{"name": "head", "at": {"tp": 3}}])", {{"tp", 2}}) ==
        "--to-mesh: rule \"head\" of a.json lives at tp=[3], expected coordinates below 2 on a mesh of tp=2; write "
        "\"last\" in "
        "its \"at\", which follows the mesh");
  CHECK_THAT(refusal(R"("parameters": [{"name": "emb", "at": {"tp": [0, 3]}}])", {{"tp", 1}}),
             Catch::Matchers::Contains("write \"last\" for 3 in its"));
  CHECK_THAT(refusal(R"("parameters": [{"name": "mid", "at": {"tp": [1, 2]}}])", {{"tp", 1}}),
             Catch::Matchers::Contains("tp=[1, 2]") && Catch::Matchers::Contains("give a layout for that mesh"));
  CHECK_THAT(refusal(R"("indices": [{"in": "l.{i}", "axis": "tp", "counts": [3, 1, 2, 2]}])", {{"tp", 1}}),
             Catch::Matchers::Contains("indices \"l.{i}\" of a.json has 4 counts, expected 1 on a mesh of tp=1") &&
                 Catch::Matchers::Contains("leave \"counts\" out"));
  CHECK_THAT(refusal(R"("indices": [{"in": "l.{i}", "axis": "tp", "total": 8}])", {{"tp", 3}}),
             Catch::Matchers::Contains("counts 8, expected a multiple of 3"));
  CHECK(refusal(R"("indices": [{"in": "l.{i}", "axis": "tp", "counts": [3, 1, 2, 2]}])", {{"dp", 1}}) == "no error");
  CHECK(refusal(R"("parameters": [{"name": "head", "at": {"tp": "last"}}])", {{"tp", 1}}) == "no error");
}

TEST_CASE("$schema is for editors") {
  CHECK(with(R"("$schema": "schema.json")").parameters.empty());
  CHECK(to_json(with(R"("$schema": "schema.json")")) == to_json(with(R"("buckets": [])")));
}

TEST_CASE("the layout of a single file") {
  const auto layout = single_card();
  CHECK(layout.mesh.size() == 1);
  CHECK(layout.default_rule == Default::replicate);
  CHECK(layout.files.path(layout.mesh, 0) == "rank_0.h5");
  CHECK(to_json(parse_layout(to_json(layout), "x")) == to_json(layout));
}

}  // namespace
