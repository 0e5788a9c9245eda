#include "layout/tables/accessor.hpp"

#include "refused.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

using Names = std::vector<std::string>;

RowFields fields_of(std::string_view kind, std::string_view embed, std::string_view embedx, std::uint64_t dims) {
  return RowFields({accessor_class(kind), dims, sgd_rule(embed), sgd_rule(embedx)});
}

}  // namespace

TEST_CASE("the fields of Paddle's rows, by the class of their table") {
  const Names common{"slot", "unseen_days", "delta_score", "show", "click", "embed_w", "embed_g2sum"};
  for (const auto kind : {"CtrCommonAccessor", "SparseAccessor"}) {
    const auto fields = fields_of(kind, "SparseAdaGradSGDRule", "SparseAdaGradSGDRule", 2);
    CHECK(fields.always() == common);
    CHECK(fields.tail(2) == Names{"embedx_w[0]", "embedx_w[1]", "embedx_g2sum"});
  }
  const auto doubles = fields_of("CtrDoubleAccessor", "SparseAdaGradSGDRule", "SparseAdaGradSGDRule", 2);
  CHECK(doubles.always() == Names{"unseen_days", "delta_score", "show", "click", "embed_w", "embed_g2sum", "slot"});
  CHECK(doubles.tail(2) == Names{"embedx_g2sum", "embedx_w[0]", "embedx_w[1]"});
  const auto dims = fields_of("CtrDymfAccessor", "SparseNaiveSGDRule", "SparseSharedAdamSGDRule", 8);
  CHECK(dims.always() == Names{"unseen_days", "delta_score", "show", "click", "embed_w", "slot", "mf_dim"});
  CHECK(dims.tail(1) == Names{"embedx_m", "embedx_v", "embedx_beta1_pow", "embedx_beta2_pow", "embedx_w"});
  CHECK(dims.rows_have_dims());
}

TEST_CASE("a tail has its weights and the state of its rule") {
  const std::vector<std::pair<std::string_view, std::uint64_t>> state{{"SparseNaiveSGDRule", 0},
                                                                      {"SparseAdaGradSGDRule", 1},
                                                                      {"StdAdaGradSGDRule", 8},
                                                                      {"SparseAdamSGDRule", 18},
                                                                      {"SparseSharedAdamSGDRule", 4}};
  for (const auto& [rule, size] : state) {
    CHECK(name_of(sgd_rule(rule)) == rule);
    for (const auto kind : {"SparseAccessor", "CtrDymfAccessor"}) {
      const auto fields = fields_of(kind, "SparseNaiveSGDRule", rule, 8);
      CHECK(fields.tail_size(8) == 8 + size);
      CHECK(fields.tail(8).size() == 8 + size);
      CHECK(name_of(accessor_class(kind)) == kind);
    }
  }
}

TEST_CASE("an accessor that Paddle does not have is refused") {
  const auto layout = [](auto&& work) { return fixture::refused(work, Kind::layout); };
  CHECK_THAT(layout([] { accessor_class("Sparse"); }), Contains("\"Sparse\"") && Contains("CtrDymfAccessor"));
  CHECK_THAT(layout([] { sgd_rule("adam"); }), Contains("SparseAdamSGDRule"));
  CHECK_THAT(layout([] { fields_of("SparseAccessor", "SparseNaiveSGDRule", "SparseNaiveSGDRule", 0); }),
             Contains("embedx_dim 0"));
  CHECK_THAT(layout([] { fields_of("CtrDoubleAccessor", "SparseAdaGradSGDRule", "SparseAdamSGDRule", 8); }),
             Contains("rule SparseAdamSGDRule"));
}
