#include "jobs/types/casts.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;

namespace {

using namespace fixture;
using Catch::Matchers::Contains;

Placement quantised() {
  return target(single_card(), {tensor("l.bias", {2}), tensor("l.weight", {2, 2}, *number_type("f8_e4m3")),
                                tensor("l.weight_scale", {1})});
}

CastRule rule(const char* dtype, const char* names, bool takes_tied = false) {
  return {*number_type(dtype), Pattern(names), takes_tied};
}

struct Cast {
  std::vector<std::string> warnings;
  std::vector<std::string> dtypes;
};

Cast cast_of(const std::vector<CastRule>& rules) {
  const Placement source = quantised();
  Selection selection = select({}, source);
  Cast done{cast(rules, source, selection), {}};
  for (const Tensor& each : selection.tensors) done.dtypes.push_back(each.dtype.name);
  return done;
}

using Names = std::vector<std::string>;

TEST_CASE("A cast of everything leaves codes and scales as they are, and says which") {
  const Cast done = cast_of({rule("bf16", "*")});
  CHECK(done.dtypes == Names{"bf16", "f8_e4m3", "f32"});
  REQUIRE(done.warnings.size() == 1);
  CHECK_THAT(done.warnings[0], Contains("8 bits and less l.weight;") && Contains("quantised numbers l.weight_scale;"));
}

TEST_CASE("A cast that names codes or scales is refused, unless it takes them or changes nothing") {
  CHECK_THAT(refused([] { cast_of({rule("bf16", "*.weight")}); }, Kind::usage),
             Contains("l.weight") && Contains("bf16!:*.weight"));
  CHECK_THAT(refused([] { cast_of({rule("bf16", "*_scale")}); }, Kind::usage), Contains("those of 'l.weight'"));
  CHECK(cast_of({rule("bf16", "*.weight", true)}).dtypes == Names{"f32", "bf16", "f32"});
  CHECK(cast_of({rule("bf16", "*", true)}).dtypes == Names{"bf16", "bf16", "bf16"});
  CHECK(cast_of({rule("f32", "*_scale")}).warnings.empty());
  CHECK(cast_of({rule("bf16", "l.bias")}).dtypes == Names{"bf16", "f8_e4m3", "f32"});
}

}  // namespace
