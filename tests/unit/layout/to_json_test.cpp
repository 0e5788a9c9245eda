#include <string>

#include "catch.hpp"
#include "layout/language/layout.hpp"
#include "layout/language/rule_json.hpp"

using namespace ckpt;

namespace {

std::string canonical(const std::string& text) {
  return to_json(parse_layout(text, "a.json"));
}

TEST_CASE("the keys of a rule, and an entry of `indices`, are the same text alone") {
  const Mesh mesh{{"pp", "tp"}, {2, 2}, {}};
  Keys keys;
  CHECK(to_json(keys, mesh) == "{}");
  keys.split = {{}, {1}};
  keys.at = At{{0, {0, 1}}};
  keys.at_last = At{{0, {0}}};
  keys.replicas = Replicas::first;
  CHECK(to_json(keys, mesh) == R"({"split": [null, "tp"], "at": {"pp": [0, "last"]}, "replicas": "first"})");
  IndexRule index;
  index.in = Pattern("l.{i}.*", {"i"});
  index.axes = {0};
  index.numbering = Numbering::local;
  CHECK(to_json(index, mesh) == R"({"in": "l.{i}.*", "axis": "pp", "numbering": "local"})");
}

TEST_CASE("the canonical text of a layout that says everything") {
  const std::string text = R"({
  "ckpt_layout": 1,
  "mesh": {"axes": ["pp", "dp", "tp"], "shape": [2, 2, 2], "cards": [7, 6, 5, 4, 3, 2, 1, 0]},
  "files": "stage{pp}/rank_{card:05}.h5",
  "parameters": [
    {"name": ["m.{x}", "v.{x}"], "split": [], "uneven": "exact", "sizes": {}, "pad": {}, "at": {}, "like": "{x}", "equals": "{x}", "replicas": "check"},
    {"name": "a", "split": ["tp", ["pp", "dp"], null], "uneven": "ceil", "sizes": {"0": [3, 1]}, "parts": {"dim": 1, "count": 2}},
    {"name": "b", "split": [null, "tp"], "parts": {"dim": 1, "sizes": [8, 4]}, "pad": {"0": {"size": 5, "multiple_of": 4, "fill": "edge"}, "2": {"size": 1}}, "flat": {"axis": "dp", "multiple_of": 8}, "shape": [5, 12, 1], "permute": [2, 0, 1], "at": {"pp": 1, "dp": [0, 1]}, "replicas": "first"},
    {"name": "\"quoted\" \\ and é", "flat": {"axis": "dp"}}
  ],
  "default": "replicate",
  "rename": [
    {"stored": "module.{x}", "name": "{x}"}
  ],
  "indices": [
    {"in": "layers.{i}.*", "axis": "pp", "total": 8, "numbering": "local", "virtual": 2},
    {"in": "experts.{i}.*", "axis": "tp", "counts": [3, 5]}
  ],
  "buckets": [
    {"name": "flat", "axis": "dp", "align": 64, "multiple_of": 128, "at": {"pp": 0}, "members": [{"name": "w", "shape": [4, 2], "split": [null, "tp"]}, {"name": "b", "shape": []}]},
    {"name": "flat", "axis": "dp", "at": {"pp": 1}, "members": [{"name": "c", "shape": [1]}]}
  ]
}
)";
  CHECK(canonical(text) == text);
}

TEST_CASE("what says only the default is left out, and keys take their order") {
  CHECK(canonical(R"({"indices": [{"virtual": 1, "numbering": "global", "total": 2, "axis": "a", "in": "{i}"}],
                      "default": "error", "files": "rank_{card}.h5", "rename": [], "buckets": [], "parameters": [
                        {"replicas": "check", "uneven": "exact", "split": [], "sizes": {}, "pad": {}, "at": {}, "name": ["w"]},
                        {"split": [["a"]], "name": "v", "pad": {"0": {"fill": "zero", "multiple_of": 1, "size": 3}}}],
                      "mesh": {"cards": [0, 1], "shape": [2], "axes": ["a"]}, "ckpt_layout": 1})") ==
        R"({
  "ckpt_layout": 1,
  "mesh": {"axes": ["a"], "shape": [2]},
  "parameters": [
    {"name": "w"},
    {"name": "v", "split": ["a"], "pad": {"0": {"size": 3}}}
  ],
  "indices": [
    {"in": "{i}", "axis": "a", "total": 2}
  ]
}
)");
}

TEST_CASE("the smallest layout") {
  CHECK(to_json(single_card()) == R"({
  "ckpt_layout": 1,
  "mesh": {"axes": ["card"], "shape": [1]},
  "default": "replicate"
}
)");
}

}  // namespace
