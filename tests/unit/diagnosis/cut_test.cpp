#include <cstring>
#include <map>
#include <numeric>

#include "catch.hpp"
#include "diagnosis/draft/decide.hpp"
#include "diagnosis/draft/fused_names.hpp"
#include "diagnosis/draft/parts_in_data.hpp"
#include "diagnosis/draft/search.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/placement/resolve.hpp"

using namespace ckpt;
using namespace ckpt::drafting;

namespace {

using Sizes = std::vector<std::uint64_t>;

DType i32() {
  return *number_type("i32");
}

/// Whole tensors whose elements are their own numbers (or all `constant`), cut by a layout of the test's own.
class Case final : public CardData, public WholeTensors {
 public:
  Case(Mesh mesh, const Shape& shape, const std::string& keys, bool is_constant = false)
      : mesh_(std::move(mesh)), is_constant_(is_constant) {
    Layout layout =
        parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["dp", "tp"], "shape": )" + format_list(mesh_.shape) +
                         R"(}, "parameters": [{"name": "w")" + (keys.empty() ? "" : ", " + keys) + "}]}",
                     "the test");
    tensors_ = {{"w", i32(), shape, false}};
    placement_ = resolve_target(layout, tensors_).placement;
    for (Position card = 0; card < mesh_.size(); ++card) {
      arrays_.push_back({"w", i32(), placement_.stored_shape(0, card), std::nullopt, false});
      data_.emplace_back(numel(arrays_.back().shape), -1);
      placement_.for_each_region(0, card, {0, data_.back().size()},
                                 [&](ParameterId, const Region& region) { fill(data_.back(), region); });
    }
  }

  void read(Position card, const std::string&, Interval elements, std::span<std::byte> out) override {
    std::memcpy(out.data(), data_[card].data() + elements.lo, out.size());
  }
  const std::vector<Tensor>& tensors() const override { return tensors_; }
  bool has_data() const override { return true; }
  void read(const std::string&, const Box& box, std::span<std::byte> out) override {
    std::vector<std::int32_t> elements(numel(box.shape()));
    fill(elements, {box, 0, row_major_strides(box.shape())});
    std::memcpy(out.data(), elements.data(), out.size());
  }

  Question question(bool is_expected = true, bool has_data = true) const {
    Question question;
    question.name = question.stored = "w";
    question.is_constant = is_constant_;
    question.has_data = has_data;
    for (Position card = 0; card < mesh_.size(); ++card) {
      std::uint64_t content = 0;
      for (const auto element : data_[card]) content = content * 31 + static_cast<std::uint64_t>(element);
      question.pieces.push_back({&arrays_[card], content});
    }
    question.differing = differing_axes(mesh_, classes_of(question.pieces));
    if (is_expected) question.expected = tensors_.front().shape;
    return question;
  }

  std::vector<std::string> found(const Question& question) {
    std::vector<std::string> texts;
    Search search(mesh_, *this, this);
    for (const Keys& keys : search.fitting(question)) texts.push_back(to_json(keys, mesh_));
    return texts;
  }
  std::vector<std::string> found() { return found(question()); }

  const Mesh& mesh() const { return mesh_; }

 private:
  void fill(std::vector<std::int32_t>& elements, const Region& region) const {
    const Shape shape = region.box.shape();
    const Shape weights = row_major_strides(tensors_.front().shape);
    for (std::uint64_t i = 0; i < numel(shape); ++i) {
      std::uint64_t at = region.offset;
      std::uint64_t number = 0;
      for (std::uint64_t d = shape.size(), rest = i; d-- > 0; rest /= shape[d]) {
        at += rest % shape[d] * region.strides[d];
        number += (region.box.lo[d] + rest % shape[d]) * weights[d];
      }
      elements[at] = is_constant_ ? 7 : static_cast<std::int32_t>(number);
    }
  }

  Mesh mesh_;
  bool is_constant_;
  std::vector<Tensor> tensors_;
  Placement placement_;
  std::vector<StoredArray> arrays_;
  std::vector<std::vector<std::int32_t>> data_;
};

Mesh two_by(std::uint64_t dp, std::uint64_t tp) {
  return {{"dp", "tp"}, {dp, tp}, {}};
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("the data of whole tensors prove dimension, order of axes, parts, order of dimensions, and padding") {
  CHECK(Case(two_by(2, 2), {8, 8}, "").found() == Texts{"{}"});
  CHECK(Case(two_by(2, 2), {8, 8}, R"("split": [null, "tp"])").found() == Texts{R"({"split": [null, "tp"]})"});
  CHECK(Case(two_by(2, 2), {8, 8}, R"("split": [["tp", "dp"]])").found() == Texts{R"({"split": [["tp", "dp"]]})"});
  CHECK(Case(two_by(2, 2), {8, 8}, R"("split": [["dp", "tp"]])").found() == Texts{R"({"split": [["dp", "tp"]]})"});
  CHECK(Case(two_by(3, 2), {10, 8}, R"("split": ["dp", "tp"], "uneven": "ceil")").found() ==
        Texts{R"({"split": ["dp", "tp"], "uneven": "ceil"})"});
  CHECK(Case(two_by(1, 3), {10, 2}, R"("split": ["tp"], "uneven": "balanced")").found() ==
        Texts{R"({"split": ["tp"], "uneven": "balanced"})"});
  CHECK(Case(two_by(1, 2), {12, 4}, R"("split": ["tp"], "parts": {"dim": 0, "count": 3})").found() ==
        Texts{R"({"split": ["tp"], "parts": {"dim": 0, "count": 3}})"});
  CHECK(Case(two_by(1, 2), {4, 16}, R"("split": [null, "tp"], "parts": {"dim": 1, "sizes": [8, 4, 4]})").found() ==
        Texts{R"({"split": [null, "tp"], "parts": {"dim": 1, "sizes": [8, 4, 4]}})"});
  CHECK(Case(two_by(1, 2), {8, 8}, R"("split": ["tp"], "permute": [1, 0])").found() ==
        Texts{R"({"split": ["tp"], "permute": [1, 0]})"});
  CHECK(Case(two_by(1, 2), {50, 3}, R"("split": ["tp"], "pad": {"0": {"size": 50, "multiple_of": 16}})").found() ==
        Texts{R"({"split": ["tp"], "pad": {"0": {"size": 50, "multiple_of": 8}}})"});  // the least that gives 32 each
  CHECK(Case(two_by(4, 2), {3, 6}, R"("split": [null, "tp"], "flat": {"axis": "dp"}, "shape": [3, 6])").found() ==
        Texts{R"({"split": [null, "tp"], "flat": {"axis": "dp"}, "shape": [3, 6]})"});
}

TEST_CASE("what the bytes do not prove has all candidates") {
  Case square(two_by(1, 2), {8, 8}, R"("split": ["tp"])", true);
  CHECK(square.found() == Texts{R"({"split": ["tp"]})"});  // the shape of the pieces does
  Case shapes_alone(two_by(2, 2), {8, 8}, R"("split": [["tp", "dp"]])");
  CHECK(shapes_alone.found(shapes_alone.question(true, false)).size() == 2);
  Case nothing(two_by(1, 2), {8, 8}, R"("split": ["tp"])");
  CHECK(nothing.found(nothing.question(false, false)) == Texts{R"({"split": ["tp"]})", R"({"split": [null, "tp"]})"});
  Case uneven(two_by(1, 4), {10, 8}, R"("split": ["tp"], "uneven": "ceil")");
  CHECK(uneven.found(uneven.question(false, false)) == Texts{R"({"split": ["tp"], "uneven": "ceil"})"});
}

TEST_CASE("elements of one type are compared byte by byte, whatever form their files hold them in") {
  DType opaque = *number_type("bf16");
  opaque.native = "two opaque bytes";
  CHECK(have_same_bytes(*number_type("bf16"), opaque));
  CHECK_FALSE(have_same_bytes(*number_type("bf16"), *number_type("f16")));
  CHECK(are_comparable(*number_type("bf16"), *number_type("f16")));
  CHECK_FALSE(are_comparable(i32(), *number_type("u32")));
}

TEST_CASE("parts are told from which slices the first card has") {
  const auto slices = [](std::uint64_t count) {
    Sizes all(count);
    std::iota(all.begin(), all.end(), std::uint64_t{100});
    return all;
  };
  CHECK(parts_of(slices(8), {100, 101, 104, 105}).value() == Sizes{4, 4});
  CHECK(parts_of(slices(8), {100, 101, 104, 106}).value() == Sizes{4, 2, 2});
  CHECK_FALSE(parts_of(slices(8), {100, 101, 102, 103}));  // one run
  CHECK_FALSE(parts_of(slices(8), {101, 102, 105}));       // not the first slices
  CHECK_FALSE(parts_of(slices(8), {100, 7}));              // not there
}

TEST_CASE("a vector of integers that differs may have copies of which the first counts") {
  Case state(two_by(2, 2), {8}, R"("split": [["dp", "tp"]])");
  const Open open = decide(state.mesh(), {state.question(false, false)}, state, nullptr).open.at("w");
  CHECK(open.candidates.front() == R"({"replicas": "first"})");
  Case uneven(two_by(1, 2), {7}, R"("split": ["tp"], "uneven": "ceil")");
  CHECK(decide(uneven.mesh(), {uneven.question(false, false)}, uneven, nullptr).open.empty());
}

TEST_CASE("a constant is cut as what is named after it, where all of that agrees") {
  Case ones(two_by(2, 2), {8}, R"("split": ["tp"])", true);
  Case moment(two_by(2, 2), {8}, R"("split": ["tp"])");
  const auto named = [](Question question, const std::string& name) {
    question.name = question.stored = name;
    return question;
  };
  const Question weight = ones.question(true, false);
  const Question first = named(moment.question(true, false), "m.w");
  CHECK(decide(ones.mesh(), {weight}, ones, nullptr).open.at("w").candidates.size() == 2);
  const std::vector<Pattern> all{Pattern("*")};
  CHECK(decide(ones.mesh(), {weight, first}, ones, nullptr, all).followed == Texts{"w"});
  Case moved(two_by(2, 2), {8}, R"("split": ["dp"])");
  const Question second = named(moved.question(true, false), "v.w");
  CHECK(decide(ones.mesh(), {weight, first, second}, ones, nullptr, all).open.contains("w"));
}

TEST_CASE("shapes alone leave open whether a dimension that is cut is fused") {
  Case cut(two_by(1, 2), {12, 4}, R"("split": ["tp"], "parts": {"dim": 0, "count": 3})");
  Question question = cut.question(true, false);
  const Open open = decide(cut.mesh(), {question}, cut, nullptr).open.at("w");
  CHECK(open.candidates == Texts{R"({"split": ["tp"]})"});
  CHECK_FALSE(open.is_usually_fused);
  question.name = "attn.qkv_proj";
  const Open fused = decide(cut.mesh(), {question}, cut, nullptr).open.at("attn.qkv_proj");
  CHECK(fused.is_usually_fused);
  CHECK(fused.candidates == Texts{R"({"split": ["tp"], "parts": {"dim": 0, "count": 3}})", R"({"split": ["tp"]})"});
  CHECK(decide(cut.mesh(), {question}, cut, nullptr, {Pattern("attn.*")}).open.empty());
  Case whole(two_by(1, 2), {12, 4}, "");
  CHECK(decide(whole.mesh(), {whole.question(true, false)}, whole, nullptr).open.empty());
}

TEST_CASE("names say what is usually fused") {
  CHECK(usual_parts("layers.0.attn.Wqkv.weight") == 3);
  CHECK(usual_parts("h.3.attn.c_attn") == 3);
  CHECK(usual_parts("mlp.gate_up_proj.weight") == 2);
  CHECK(usual_parts("mlp.w13") == 2);
  CHECK(usual_parts("mlp.down_proj.weight") == 0);
}

TEST_CASE("pieces that are the same by ceil and by balanced prove neither") {
  Case either(two_by(1, 2), {5, 4}, R"("split": ["tp"], "uneven": "ceil")");
  CHECK(decide(either.mesh(), {either.question()}, either, &either).either_uneven == Texts{"w"});
  Case balanced(two_by(1, 3), {10, 2}, R"("split": ["tp"], "uneven": "balanced")");
  CHECK(decide(balanced.mesh(), {balanced.question()}, balanced, &balanced).either_uneven.empty());
}

TEST_CASE("without whole tensors equal pieces are copies, different ones open, and constants neither") {
  const auto decided = [](Case& of) { return decide(of.mesh(), {of.question(false, false)}, of, nullptr); };
  Case equal(two_by(2, 2), {8, 8}, "");
  CHECK(decided(equal).keys.contains("w"));
  Case constant(two_by(2, 2), {8, 8}, "", true);
  CHECK(decided(constant).open.at("w").found.find("prove nothing") != std::string::npos);
  Case split(two_by(1, 2), {8, 8}, R"("split": ["tp"])");
  CHECK(decided(split).open.at("w").candidates == Texts{R"({"split": ["tp"]})", R"({"split": [null, "tp"]})"});
  Case vector(two_by(1, 2), {8}, R"("split": ["tp"])");
  CHECK(decided(vector).open.at("w").candidates.back().find("buckets") != std::string::npos);
}
