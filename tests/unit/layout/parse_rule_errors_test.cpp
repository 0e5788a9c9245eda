#include "unit/layout/refused_layout.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

TEST_CASE("refused: names and like") {
  check_refused({
      {with(R"("parameters": [{}])"), R"(a.json: /parameters/0: found no key "name")"},
      {with(R"("parameters": [{"name": []}])"), "a.json: /parameters/0/name: found [], expected a name"},
      {with(R"("parameters": [{"name": ""}])"),
       "a.json: /parameters/0/name: found \"\", expected a string that is not empty"},
      {with(R"("parameters": [{"name": ["a", 1]}])"), "a.json: /parameters/0/name/1: found 1, expected a string"},
      {with(R"("parameters": [{"name": "a\u0000"}])"), "expected a string without a NUL"},
      {with(R"("parameters": [{"name": "a[b"}])"), "a.json: /parameters/0/name: found an open [ in the pattern"},
      {rule(R"("like": "v*")"), R"(a.json: /parameters/0/like: found "v*" with a wildcard)"},
      {rule(R"("like": "{x}")"),
       R"(a.json: /parameters/0/like: found the capture {x}, expected captures that "name" has in "w")"},
      {with(R"("parameters": [{"name": ["{x}.a", "b"], "like": "{x}"}])"), R"(captures that "name" has in "b")"},
      {rule(R"("like": "w")"), R"(a.json: /parameters/0/like: found "w", the rule's own name)"},
      {with(R"("parameters": [{"name": "m.{x}", "like": "m.{x}"}])"), "the rule's own name"},
      {with(R"("parameters": [{"name": "a", "like": "b"}, {"name": "b", "like": "c"}, {"name": "c", "like": "a"}])"),
       R"(a.json: /parameters/2/like: found "a", which leads back)"},
      {with(R"("parameters": [{"name": "*", "like": "w"}, {"name": "w"}])"),
       R"(a.json: /parameters/0/like: found "w", which leads back)"},
  });
}

TEST_CASE("refused: rules with an unknown key, and values of the wrong kind") {
  check_refused({
      {rule(R"("uneve": "ceil")"),
       R"(a.json: /parameters/0/uneve: found the unknown key "uneve", expected one of "name", )"},
      {rule(R"("uneve": "ceil")"), R"(did you mean "uneven"?)"},
      {rule(R"("uneven": "ciel")"),
       R"(a.json: /parameters/0/uneven: found "ciel", expected one of "exact", "ceil", "balanced"; did you mean "ceil"?)"},
      {rule(R"("uneven": 1)"), R"(a.json: /parameters/0/uneven: found 1, expected one of "exact")"},
      {rule(R"("replicas": "last")"),
       R"(a.json: /parameters/0/replicas: found "last", expected one of "check", "first")"},
      {rule(R"("shape": [-4])"), "a.json: /parameters/0/shape/0: found -4"},
      {rule(R"("shape": 4)"), "a.json: /parameters/0/shape: found 4, expected a list of whole numbers"},
      {rule(R"("shape": [4294967296, 4294967296])"), "a.json: /parameters/0/shape: found a shape of 2^64 elements"},
      {rule(R"("permute": [0, 0])"),
       "a.json: /parameters/0/permute: found [0,0], expected each dimension from 0 on once"},
      {rule(R"("permute": [1, 2])"), "a.json: /parameters/0/permute: found [1,2], expected each dimension"},
      {rule(R"("permute": [0.0])"), "a.json: /parameters/0/permute/0: found 0.0"},
  });
}

TEST_CASE("refused: split") {
  check_refused({
      {rule(R"("split": "tp")"), R"(a.json: /parameters/0/split: found "tp", expected a list)"},
      {rule(R"("split": ["tpp"])"),
       R"(a.json: /parameters/0/split/0: found "tpp", expected an axis of the mesh, one of "dp", "tp"; did you mean "tp"?)"},
      {rule(R"("split": ["tp", "tp"])"), R"(a.json: /parameters/0/split/1: found the axis "tp" a second time)"},
      {rule(R"("split": [["dp", "dp"]])"), R"(a.json: /parameters/0/split/0/1: found the axis "dp" a second time)"},
      {rule(R"("split": [0])"), "a.json: /parameters/0/split/0: found 0, expected null, an axis"},
      {rule(R"("split": [["dp", null]])"), "a.json: /parameters/0/split/0/1: found null, expected an axis"},
      {rule(R"("split": ["tp", null, null], "shape": [4, 4])"),
       R"(a.json: /parameters/0/split: found 3 dimensions, expected at most 2, as "shape")"},
      {rule(R"("split": ["tp", null, null], "permute": [1, 0])"),
       R"(found 3 dimensions, expected at most 2, as "permute")"},
      {rule(R"("shape": [4, 4], "permute": [0])"), R"(a.json: /parameters/0/permute: found 1 dimension, expected 2)"},
  });
}

TEST_CASE("refused: sizes, parts and pad") {
  check_refused({
      {rule(R"("sizes": [1])"), "a.json: /parameters/0/sizes: found [1], expected an object"},
      {rule(R"("sizes": {"00": [1]})"),
       R"(a.json: /parameters/0/sizes/00: found the key "00", expected a dimension's number)"},
      {rule(R"("sizes": {"32": [1]})"), R"(found the key "32", expected a dimension's number)"},
      {rule(R"("sizes": {"-1": [1]})"), R"(found the key "-1", expected a dimension's number)"},
      {rule(R"("split": ["tp"], "sizes": {"0": [1, 2, 3]})"),
       "a.json: /parameters/0/sizes/0: found 3 sizes, expected 4"},
      {rule(R"("split": [["dp", "tp"]], "sizes": {"0": [1, 2, 3]})"), "found 3 sizes, expected 8"},
      {rule(R"("split": ["tp"], "sizes": {"1": [1, 2]})"), "a.json: /parameters/0/sizes/1: found 2 sizes, expected 1"},
      {rule(R"("split": ["dp"], "sizes": {"0": [1, 18446744073709551615]})"),
       "a.json: /parameters/0/sizes/0: found sizes whose sum"},
      {rule(R"("split": ["dp"], "shape": [4], "sizes": {"0": [1, 2]})"),
       R"(found a total of 3 for dimension 0, expected 4 as "shape")"},
      {rule(R"("shape": [4], "sizes": {"1": [1]})"),
       "a.json: /parameters/0/sizes/1: found dimension 1, expected one below 1"},
      {rule(R"("parts": {"dim": 0})"), R"(a.json: /parameters/0/parts: found neither "sizes" nor "count")"},
      {rule(R"("parts": {"dim": 0, "count": 2, "sizes": [1]})"),
       R"(a.json: /parameters/0/parts: found both "sizes" and "count")"},
      {rule(R"("parts": {"count": 2})"), R"(a.json: /parameters/0/parts: found no key "dim")"},
      {rule(R"("parts": {"dim": "0", "count": 2})"),
       "a.json: /parameters/0/parts/dim: found \"0\", expected a whole number between 0 and 31"},
      {rule(R"("parts": {"dim": 0, "count": 0})"), "a.json: /parameters/0/parts/count: found 0"},
      {rule(R"("parts": {"dim": 0, "count": 4294967296})"), "expected a whole number between 1 and 1048576"},
      {rule(R"("parts": {"dim": 0, "sizes": []})"),
       "a.json: /parameters/0/parts/sizes: found [], expected a size for each part"},
      {rule(R"("parts": {"dim": 0, "size": [1]})"), R"(did you mean "sizes"?)"},
      {rule(R"("parts": {"dim": 0, "sizes": [18446744073709551615, 1]})"), "sizes whose sum is 2^64"},
      {rule(R"("shape": [9], "parts": {"dim": 0, "count": 2})"),
       "a.json: /parameters/0/parts/count: found 2 equal parts, expected a number that divides 9"},
      {rule(R"("shape": [9], "parts": {"dim": 0, "sizes": [4, 4]})"),
       "a.json: /parameters/0/parts: found a total of 8"},
      {rule(R"("shape": [9], "parts": {"dim": 1, "count": 1})"), "a.json: /parameters/0/parts/dim: found dimension 1"},
      {rule(R"("pad": {"0": {}})"), R"(a.json: /parameters/0/pad/0: found no key "size")"},
      {rule(R"("pad": {"0": {"size": 4, "multiple_of": 0}})"), "a.json: /parameters/0/pad/0/multiple_of: found 0"},
      {rule(R"("pad": {"0": {"size": 4, "fill": "zeros"}})"), R"(found "zeros", expected one of "zero", "edge")"},
      {rule(R"("pad": {"0": {"size": 4, "multiple": 2}})"), R"(did you mean "multiple_of"?)"},
      {rule(R"("pad": {"0": {"size": 18446744073709551615, "multiple_of": 2}})"),
       "a.json: /parameters/0/pad/0: found a padded size of 2^64"},
      {rule(R"("split": ["tp"], "pad": {"0": {"size": 1, "multiple_of": 9223372036854775808}})"),
       "found a padded size of 2^64"},
      {rule(R"("shape": [5], "pad": {"0": {"size": 4}})"), "a.json: /parameters/0/pad/0: found a total of 4"},
      {rule(R"("pad": {"0": {"size": 4}}, "sizes": {"0": [4]})"),
       R"(a.json: /parameters/0: found "sizes" and "pad" for dimension 0)"},
      {rule(R"("parts": {"dim": 1, "count": 2}, "sizes": {"1": [4]})"),
       R"(a.json: /parameters/0: found "sizes" and "parts" for dimension 1)"},
      {rule(R"("parts": {"dim": 1, "count": 2}, "pad": {"1": {"size": 4}})"),
       R"(a.json: /parameters/0: found "parts" and "pad" for dimension 1)"},
  });
}

TEST_CASE("refused: flat and at") {
  check_refused({
      {rule(R"("flat": "dp")"), "a.json: /parameters/0/flat: found \"dp\", expected an object"},
      {rule(R"("flat": {"multiple_of": 2})"), R"(a.json: /parameters/0/flat: found no key "axis")"},
      {rule(R"("flat": {"axis": "pp"})"),
       R"(a.json: /parameters/0/flat/axis: found "pp", expected an axis of the mesh)"},
      {rule(R"("flat": {"axis": "dp", "multiple_of": 0})"), "a.json: /parameters/0/flat/multiple_of: found 0"},
      {rule(R"("flat": {"axis": "dp", "multiple_of": 9223372036854775808})"),
       "a.json: /parameters/0/flat/multiple_of: found"},
      {rule(R"("split": [null, "dp"], "flat": {"axis": "dp"})"),
       "a.json: /parameters/0/flat/axis: found the axis dp, over which"},
      {rule(R"("at": "dp")"), "a.json: /parameters/0/at: found \"dp\", expected an object"},
      {rule(R"("at": {"pp": 0})"), R"(a.json: /parameters/0/at/pp: found "pp", expected an axis of the mesh)"},
      {rule(R"("at": {"dp": 2})"), "a.json: /parameters/0/at/dp: found 2, expected a whole number between 0 and 1"},
      {rule(R"("at": {"dp": [0, 2]})"),
       "a.json: /parameters/0/at/dp/1: found 2, expected a whole number between 0 and 1"},
      {rule(R"("at": {"tp": [3, 1, 3]})"), "a.json: /parameters/0/at/tp: found the coordinate 3 twice"},
      {rule(R"("at": {"tp": []})"), "a.json: /parameters/0/at/tp: found [], expected a coordinate"},
      {rule(R"("at": {"tp": null})"), "a.json: /parameters/0/at/tp: found null, expected a whole number"},
      {rule(R"("at": {"tp": "first"})"),
       R"(a.json: /parameters/0/at/tp: found "first", expected a coordinate of the axis, 0 to 3, or "last")"},
      {rule(R"("at": {"tp": ["last", 0, "last"]})"), R"(a.json: /parameters/0/at/tp: found "last" twice)"},
  });
}

TEST_CASE("refused: equals") {
  check_refused({
      {with(R"("parameters": [{"name": "fp32.{x}", "equals": "*"}])"),
       R"(a.json: /parameters/0/equals: found "*" with a wildcard)"},
      {with(R"("parameters": [{"name": "fp32.{x}", "equals": "{y}"}])"),
       R"(a.json: /parameters/0/equals: found the capture {y})"},
      {rule(R"("equals": "w")"),
       R"(a.json: /parameters/0/equals: found "w", the rule's own name, expected another parameter, which has the same values)"},
      {rule(R"("equals": 1)"), "a.json: /parameters/0/equals: found 1, expected a string"},
  });
}
