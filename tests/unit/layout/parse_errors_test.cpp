#include "unit/layout/refused_layout.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

std::string with_mesh(const std::string& mesh) {
  return R"({"ckpt_layout": 1, "mesh": )" + mesh + "}";
}

}  // namespace

TEST_CASE("what is not JSON is refused with its line and column") {
  check_refused({
      {"", "a.json: line 1, column 1: found text that is not JSON"},
      {"{\n  \"a\": 1,\n}", "a.json: line 3, column 1: found text that is not JSON"},
      {"{\n  \"a\" 1}", "a.json: line 2, column 7: found text that is not JSON"},
      {"{} {}", "a.json: line 1, column 4: found text that is not JSON"},
      {"// no\n{}", "a.json: line 1, column 1: found text that is not JSON"},
      {"{\"a\": /* no */ 1}", "JSON has no comments"},
      {"{\"a\": 1e400}", "a.json: line 1, column 11: found text that is not JSON: number overflow"},
      {"{\"a\": NaN}", "found text that is not JSON"},
      {"{\"a\": 01}", "found text that is not JSON"},
      {"{\"a\": \"\xff\"}", "ill-formed UTF-8"},
      {std::string("{}\n\0 {", 6), "a.json: line 2, column 1: found text that is not JSON: a NUL"},
      {"[1, 2", "a.json: line 1, column 6: found text that is not JSON"},
  });
}

TEST_CASE("a key that stands twice is refused, at any depth") {
  check_refused({
      {R"({"ckpt_layout": 1, "ckpt_layout": 1})", R"(a.json: /ckpt_layout: found the key "ckpt_layout" twice)"},
      {with_mesh(R"({"axes": ["a"], "shape": [1], "axes": ["b"]})"),
       R"(a.json: /mesh/axes: found the key "axes" twice)"},
      {rule(R"("pad": {"0": {"size": 1}, "0": {"size": 2}})"),
       R"(a.json: /parameters/0/pad/0: found the key "0" twice)"},
      {R"([0, [1, {"a/b~": 1, "a/b~": 2}]])", R"(a.json: /1/1/a~1b~0: found the key "a/b~" twice)"},
  });
}

TEST_CASE("depth and size are bounded") {
  std::string many = "[";
  for (int i = 0; i < 1 << 23; ++i) many += "0,";
  check_refused({
      {std::string(33, '[') + std::string(33, ']'), "nested deeper than 32"},
      {std::string(1000000, '['), "nested deeper than 32"},
      {"{\"a\": " + std::string(100000, '[') + "}", "a.json: /a/0/0/"},
      {std::string((std::size_t{64} << 20) + 1, ' '), "expected at most 64 MiB"},
      {many, "a.json: /8388606: found more than 8388608 values"},
  });
}

TEST_CASE("refused: the top level") {
  check_refused({
      {"[]", "a.json: found [], expected an object"},
      {"null", "a.json: found null, expected an object"},
      {"{}", R"(a.json: found no key "ckpt_layout")"},
      {R"({"ckpt_layout": 2, "new": 0})", "a.json: /ckpt_layout: found version 2, expected 1"},
      {R"({"ckpt_layout": "1"})", R"(a.json: /ckpt_layout: found "1", expected a whole number)"},
      {R"({"ckpt_layout": 1.0})", R"(a.json: /ckpt_layout: found 1.0, expected a whole number)"},
      {R"({"ckpt_layout": 1})", R"(a.json: found no key "mesh")"},
      {with(R"("parametres": [])"),
       R"(a.json: /parametres: found the unknown key "parametres", expected one of "ckpt_layout", "mesh", "files", )"
       R"("names", "parameters", "default", "rename", "indices", "buckets", "tables", "uneven", "$schema"; did you mean "parameters"?)"},
      {with(R"("parameters": {})"), "a.json: /parameters: found {}, expected a list"},
      {with(R"("parameters": [3])"), "a.json: /parameters/0: found 3, expected an object"},
      {with(R"("default": "replicated")"),
       R"(a.json: /default: found "replicated", expected one of "error", "replicate"; did you mean "replicate"?)"},
      {with(R"("default": null)"), R"(a.json: /default: found null, expected one of "error", "replicate")"},
  });
}

TEST_CASE("refused: mesh") {
  check_refused({
      {with_mesh("3"), "a.json: /mesh: found 3, expected an object"},
      {with_mesh(R"({"axes": ["a"]})"), R"(a.json: /mesh: found no key "shape")"},
      {with_mesh(R"({"axes": [], "shape": []})"), "a.json: /mesh/axes: found [], expected the name of one axis"},
      {with_mesh(R"({"axes": "a", "shape": [1]})"), R"(a.json: /mesh/axes: found "a", expected a list)"},
      {with_mesh(R"({"axes": ["a", "a"], "shape": [1, 1]})"),
       R"(a.json: /mesh/axes/1: found the axis "a" a second time)"},
      {with_mesh(R"({"axes": ["a", 3], "shape": [1, 1]})"), "a.json: /mesh/axes/1: found 3, expected a string"},
      {with_mesh(R"({"axes": [""], "shape": [1]})"),
       R"(a.json: /mesh/axes/0: found "", expected a string that is not)"},
      {with_mesh(R"({"axes": ["a=b"], "shape": [1]})"),
       "a.json: /mesh/axes/0: found \"a=b\", expected a name of letters"},
      {with_mesh(R"({"axes": ["0"], "shape": [1]})"), "expected a name of letters"},
      {with_mesh(R"({"axes": ["a", "b"], "shape": [1]})"), "a.json: /mesh/shape: found 1 sizes, expected 2"},
      {with_mesh(R"({"axes": ["a"], "shape": [0]})"), "a.json: /mesh/shape/0: found 0, expected a whole number from 1"},
      {with_mesh(R"({"axes": ["a"], "shape": [-1]})"),
       "a.json: /mesh/shape/0: found -1, expected a whole number from 1"},
      {with_mesh(R"({"axes": ["a"], "shape": [1.5]})"), "a.json: /mesh/shape/0: found 1.5, expected a whole number"},
      {with_mesh(R"({"axes": ["a"], "shape": [1e3]})"), "a.json: /mesh/shape/0: found 1000.0, expected a whole number"},
      {with_mesh(R"({"axes": ["a"], "shape": ["8"]})"), R"(a.json: /mesh/shape/0: found "8", expected a whole number)"},
      {with_mesh(R"({"axes": ["a"], "shape": [18446744073709551616]})"), "a.json: /mesh/shape/0: found 1.8"},
      {with_mesh(R"({"axes": ["a", "b"], "shape": [4294967296, 4294967296]})"),
       "a.json: /mesh/shape: found a mesh of 2^64 cards or more, expected at most 1048576 cards"},
      {with_mesh(R"({"axes": ["a"], "shape": [1048577]})"), "a.json: /mesh/shape: found 1048577 cards"},
      {with_mesh(R"({"axes": ["a"], "shape": [2], "cards": [1]})"), "a.json: /mesh/cards: found 1 cards, expected 2"},
      {with_mesh(R"({"axes": ["a"], "shape": [2], "cards": [7, 7]})"), "a.json: /mesh/cards: found card 7 twice"},
      {with_mesh(R"({"axes": ["a"], "shape": [2], "cards": [0, -1]})"), "a.json: /mesh/cards/1: found -1"},
      {with_mesh(R"({"axes": ["a"], "shape": [1], "card": [0]})"),
       R"(a.json: /mesh/card: found the unknown key "card")"},
  });
}

TEST_CASE("refused: files") {
  check_refused({
      {with(R"("files": 3)"), "a.json: /files: found 3, expected a string"},
      {with(R"("files": "")"), "a.json: /files: found an empty file name"},
      {with(R"("files": "r{rank}.h5")"),
       R"(a.json: /files: found the placeholder {rank} in "r{rank}.h5", expected one of {card}, {dp}, {tp})"},
      {with(R"("files": "r{card.h5")"), "a.json: /files: found an open {"},
      {with(R"("files": "../r{card}.h5")"), "a.json: /files: found \"../r{card}.h5\", expected a path within"},
      {with(R"("files": "/r{card}.h5")"), "a.json: /files: found the absolute path"},
      {with(R"("files": "r\u0000{card}")"), "a.json: /files: found a NUL"},
      {with(R"("files": "checkpoint.json")"), "checkpoint.json is the checkpoint's own manifest"},
      {with(R"("files": [])"), "a.json: /files: found [], expected a template, or a list of one entry at least"},
      {with(R"("files": [{"prefix": "a/"}])"), R"(a.json: /files/0: found no key "path")"},
      {with(R"("files": [{"path": "a{card}"}, {"path": "b{card}"}])"),
       R"(a.json: /files/1: found the prefix "" a second time)"},
      {with(R"("files": [{"path": "a{card}", "prefix": "a/"}, {"path": "b{card}", "suffix": "b/"}])"),
       R"(a.json: /files/1/suffix: found the unknown key "suffix")"},
      {with(R"("files": [{"path": "r{tp}", "prefix": "a/"}, {"path": "r{card}", "prefix": "b/"}])"),
       R"(a.json: /files: found "r0" for card 0 and for card 0, expected paths that differ)"},
      {R"({"ckpt_layout": 1, "mesh": {"axes": ["a", "b"], "shape": [12, 12]}, "files": "r{a}{b}"})",
       R"(a.json: /files: found "r110" for card 22 and for card 132)"},
  });
}

TEST_CASE("refused: a rename that is not invertible") {
  const auto rename = [](const std::string& stored, const std::string& name) {
    return with(R"("rename": [{"stored": ")" + stored + R"(", "name": ")" + name + R"("}])");
  };
  check_refused({
      {rename("m.*", "*"), R"(a.json: /rename/0/stored: found "m.*" with a wildcard)"},
      {rename("m.{x}", "{x}?"), R"(a.json: /rename/0/name: found "{x}?" with a wildcard)"},
      {rename("m.{x}", "m"), R"(a.json: /rename/0/stored: found the capture {x}, which "m" has not)"},
      {rename("m", "{y}"), R"(a.json: /rename/0/name: found the capture {y}, which "m" has not)"},
      {rename("", "a"), R"(a.json: /rename/0/stored: found "", expected a string that is not empty)"},
      {with(R"("rename": [{"stored": "a"}])"), R"(a.json: /rename/0: found no key "name")"},
      {with(R"("rename": [{"stored": "a", "name": "b", "to": 1}])"),
       R"(a.json: /rename/0/to: found the unknown key "to")"},
  });
}

TEST_CASE("refused: indices") {
  const auto index = [](const std::string& keys) {
    return with(R"("indices": [{"in": "l.{i}.*", "axis": "tp", )" + keys + "}]");
  };
  check_refused({
      {with(R"("indices": [{"axis": "tp", "total": 4}])"), R"(a.json: /indices/0: found no key "in")"},
      {with(R"("indices": [{"in": "l.*", "axis": "tp", "total": 4}])"),
       "a.json: /indices/0/in: found {i} 0 times, expected it once"},
      {with(R"("indices": [{"in": "{i}.{i}", "axis": "tp", "total": 4}])"), "a.json: /indices/0/in: found {i} 2 times"},
      {with(R"("indices": [{"in": "{i}.{x}", "axis": "tp", "total": 4}])"),
       "a.json: /indices/0/in: found the capture {x}, expected {i} only"},
      {with(R"("indices": [{"in": "{i}", "axis": "pp", "total": 4}])"),
       "a.json: /indices/0/axis: found \"pp\", expected an axis"},
      {with(R"("indices": [{"in": "{i}", "axis": [], "total": 4}])"),
       "a.json: /indices/0/axis: found [], expected an axis"},
      {with(R"("indices": [{"in": "{i}", "axis": ["tp", "tp"], "total": 4}])"),
       R"(a.json: /indices/0/axis/1: found the axis "tp" a second time)"},
      {with(R"("indices": [{"in": "{i}", "axis": ["dp", "tp"], "total": 4}])"),
       R"(a.json: /indices/0/total: found 4, expected a multiple of 8 (axes "dp" × "tp" × virtual))"},
      {with(R"("indices": [{"in": "{i}", "axis": ["dp", "tp"], "counts": [1, 2, 3, 4]}])"),
       R"(a.json: /indices/0/counts: found 4 counts, expected 8, the size of the axes "dp" × "tp")"},
      {index(R"("first": 1)"), R"(a.json: /indices/0/first: found "first" without "numbering": "local")"},
      {index(R"("numbering": "local", "first": -1)"), "a.json: /indices/0/first: found -1"},
      {index(R"("restart": 1)"), "a.json: /indices/0/restart: found 1, expected true or false"},
      {index(R"("restart": true, "numbering": "local", "virtual": 2)"),
       "a.json: /indices/0/in: found {chunk} 0 times, expected it once: where the name tells"},
      {with(R"("indices": [{"in": "m{chunk}.{i}", "axis": "tp", "virtual": 2}])"),
       "a.json: /indices/0/in: found the capture {chunk}, expected {i} only"},
      {with(R"("indices": [{"in": "m{chunk}.{i}", "axis": "tp", "virtual": 2, "restart": true}])"),
       R"(a.json: /indices/0/restart: found "restart" without "numbering": "local")"},
      {with(R"("indices": [{"in": "m{chunk}.{i}", "axis": "tp", "numbering": "local", "restart": true}])"),
       R"(a.json: /indices/0/restart: found "restart" without "virtual")"},
      {index(R"("total": 6)"), R"(a.json: /indices/0/total: found 6, expected a multiple of 4 (axis "tp")"},
      {index(R"("total": 4, "virtual": 2)"), "a.json: /indices/0/total: found 4, expected a multiple of 8"},
      {index(R"("total": 4, "virtual": 9223372036854775808)"), "a.json: /indices/0/virtual: found 9223372036854775808"},
      {index(R"("total": 4, "virtual": 0)"), "a.json: /indices/0/virtual: found 0"},
      {index(R"("total": 0)"), "a.json: /indices/0/total: found 0"},
      {index(R"("total": 4, "numbering": "Local")"), R"(found "Local", expected one of "local", "global")"},
      {index(R"("counts": [1, 2, 3])"),
       R"(a.json: /indices/0/counts: found 3 counts, expected 4, the size of the axis "tp")"},
      {index(R"("counts": [1, 2, 3, 4], "total": 11)"),
       "a.json: /indices/0/total: found 11, expected 10, the sum of \"counts\""},
      {index(R"("counts": [0, 0, 0, 0])"), "a.json: /indices/0/counts: found counts that are all 0"},
      {index(R"("counts": [1, 1, 1, 18446744073709551615])"),
       "a.json: /indices/0/counts: found counts whose sum is 2^64"},
      {index(R"("counts": [1, 1, 1, 1], "virtual": 1)"),
       R"(a.json: /indices/0/virtual: found "virtual" beside "counts")"},
      {index(R"("total": 4, "chunks": 1)"), R"(a.json: /indices/0/chunks: found the unknown key "chunks")"},
  });
}

TEST_CASE("refused: buckets") {
  const auto bucket = [](const std::string& keys) {
    return with(R"("buckets": [{"name": "flat", "axis": "dp", )" + keys + "}]");
  };
  const auto member = [&](const std::string& keys) { return bucket(R"("members": [{"name": "w", )" + keys + "}]"); };
  const std::string w = R"("members": [{"name": "w", "shape": [4]}])";
  check_refused({
      {with(R"("buckets": [{"name": "b"}])"), R"(a.json: /buckets/0: found no key "axis")"},
      {bucket(R"("align": 1)"), R"(a.json: /buckets/0: found no key "members")"},
      {bucket(R"("members": [])"), "a.json: /buckets/0/members: found [], expected one member"},
      {bucket(R"("align": 0, )" + w), "a.json: /buckets/0/align: found 0"},
      {bucket(R"("multiple_of": 0, )" + w), "a.json: /buckets/0/multiple_of: found 0"},
      {bucket(R"("multiple_of": 9223372036854775808, )" + w),
       "a.json: /buckets/0/members: found a \"multiple_of\" whose product"},
      {bucket(R"("alignment": 1, )" + w), R"(a.json: /buckets/0/alignment: found the unknown key "alignment")"},
      {bucket(R"("at": {"tp": 4}, )" + w), "a.json: /buckets/0/at/tp: found 4"},
      {member(R"("split": ["tp"])"), R"(a.json: /buckets/0/members/0: found no key "shape")"},
      {member(R"("shape": [4], "flat": {"axis": "tp"})"),
       R"(a.json: /buckets/0/members/0/flat/axis: found "tp", expected "dp", over which the bucket is cut)"},
      {member(R"("shape": [4], "at": {"tp": 0})"), R"(a.json: /buckets/0/members/0/at: found the unknown key "at")"},
      {member(R"("shape": [4], "split": ["dp"])"),
       R"(a.json: /buckets/0/members/0/split: found the axis "dp", over which the bucket)"},
      {member(R"("shape": [4], "split": ["tp", null])"),
       "a.json: /buckets/0/members/0/split: found 2 dimensions, expected at most 1"},
      {member(R"("shape": [9223372036854775808, 2])"), "a.json: /buckets/0/members/0/shape: found a shape of 2^64"},
      {bucket(
           R"("members": [{"name": "a", "shape": [9223372036854775808]}, {"name": "b", "shape": [9223372036854775808]}])"),
       "a.json: /buckets/0/members: found members of 2^64 elements or more together"},
      {bucket(R"("members": [{"name": "a", "shape": [4]}, {"name": "a", "shape": [4]}])"),
       R"(a.json: /buckets/0/members/1/name: found the member "a" a second time)"},
      {bucket(R"("members": [{"name": "", "shape": [4]}])"), R"(a.json: /buckets/0/members/0/name: found "")"},
      {with(R"("buckets": [{"name": "f", "axis": "dp", "at": {"tp": [0, 2]}, )" + w +
            R"(}, {"name": "f", "axis": "dp", "at": {"tp": [1, 2]}, )" + w + "}]"),
       R"(a.json: /buckets/1/name: found "f" again, on cards that have it from bucket 0)"},
      {with(R"("buckets": [{"name": "f", "axis": "dp", )" + w + R"(}, {"name": "f", "axis": "dp", "at": {"tp": 1}, )" +
            w + "}]"),
       R"(a.json: /buckets/1/name: found "f" again)"},
  });
}
