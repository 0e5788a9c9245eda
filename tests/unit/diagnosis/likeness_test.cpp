#include <cmath>
#include <random>

#include "catch.hpp"
#include "diagnosis/likeness/sample_plan.hpp"
#include "diagnosis/likeness/verdict.hpp"

using namespace ckpt;
using namespace ckpt::likeness;
using Catch::Matchers::WithinAbs;

namespace {

/// Numbers of a weight, and the same some steps before.
struct Pair {
  std::vector<float> ours;
  std::vector<float> theirs;
};

class Weights {
 public:
  Pair moved(std::size_t count, float mean, float by) {
    Pair pair;
    for (std::size_t i = 0; i < count; ++i) {
      pair.theirs.push_back(mean + number());
      pair.ours.push_back(pair.theirs.back() + by * number());
    }
    return pair;
  }
  Pair apart(std::size_t count, float mean = 0) {
    Pair pair = moved(count, mean, 0);
    for (float& each : pair.ours) each = mean + number();
    return pair;
  }

 private:
  float number() { return normal_(random_); }
  std::mt19937 random_{7};
  std::normal_distribution<float> normal_;
};

TensorSample matrix(const std::string& name, const std::vector<Pair>& blocks, bool is_cut_anew = false) {
  TensorSample sample{name, {8, 64}, is_cut_anew, {}, {}, {}};
  for (const Pair& block : blocks) sample.blocks.push_back(moments_of(block.ours, block.theirs));
  return sample;
}

TensorSample vector(const std::string& name, const Pair& pair) {
  return {name, {pair.ours.size()}, false, {moments_of(pair.ours, pair.theirs)}, pair.ours, pair.theirs};
}

std::vector<TensorSample> right_matrices(Weights& weights, float by = 0.1F) {
  std::vector<TensorSample> samples;
  for (const char* name : {"a", "b", "c", "d"}) samples.push_back(matrix(name, {weights.moved(512, 0, by)}));
  return samples;
}

std::vector<std::string> unlike(const std::vector<TensorSample>& samples) {
  std::vector<std::string> names;
  for (const Unlike& each : judge(samples).unlike) names.push_back(samples[each.sample].name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the moments of parts add up to the correlation of the whole", "[likeness]") {
  Moments sums = moments_of(std::vector<float>{1, 2}, std::vector<float>{2, 4});
  sums.add(moments_of(std::vector<float>{3, NAN, 6}, std::vector<float>{6, 0, 11}));
  REQUIRE(sums.count == 4);
  REQUIRE_THAT(sums.correlation().value(), WithinAbs(0.99880, 1e-4));
}

TEST_CASE("what is constant or near a mean has no correlation", "[likeness]") {
  REQUIRE_FALSE(moments_of(std::vector<float>{0.1F, 0.1F, 0.1F}, std::vector<float>{1, 2, 3}).correlation());
  REQUIRE_FALSE(moments_of(std::vector<float>{1.1F, 1, 1}, std::vector<float>{1, 1.1F, 1}).correlation());
  REQUIRE_FALSE(Moments().correlation());
}

TEST_CASE("a matrix whose elements are another's is told", "[likeness]") {
  Weights weights;
  auto samples = right_matrices(weights);
  REQUIRE(unlike(samples).empty());
  samples.push_back(matrix("e", {weights.apart(512)}));
  REQUIRE(unlike(samples) == Names{"e"});
}

TEST_CASE("a few rows in other places are told where a tensor is cut anew", "[likeness]") {
  Weights weights;
  auto samples = right_matrices(weights);
  std::vector<Pair> blocks;
  for (int i = 0; i < 12; ++i) blocks.push_back(weights.moved(64, 0, 0.1F));
  blocks.push_back(weights.apart(64));
  samples.push_back(matrix("e", blocks, true));
  REQUIRE(unlike(samples) == Names{"e"});
  REQUIRE(judge(samples).unlike.front().block == 12);
  samples.back().is_cut_anew = false;  // rows of an embedding change more than others
  REQUIRE(unlike(samples).empty());
}

TEST_CASE("rows that training left dead are not accused", "[likeness]") {
  Weights weights;
  auto samples = right_matrices(weights);
  Pair dead = weights.apart(64);
  for (auto* side : {&dead.ours, &dead.theirs})
    for (float& each : *side) each *= 1e-4F;
  samples.push_back(matrix("e", {weights.moved(512, 0, 0.1F), dead}, true));
  REQUIRE(unlike(samples).empty());
}

TEST_CASE("another training tells nothing", "[likeness]") {
  Weights weights;
  std::vector<TensorSample> samples;
  for (const char* name : {"a", "b", "c", "d"}) samples.push_back(matrix(name, {weights.apart(512)}));
  REQUIRE_FALSE(judge(samples).can_tell());
  REQUIRE(unlike(samples).empty());
  REQUIRE_FALSE(judge({vector("norm", weights.moved(64, 0, 0))}).typical);
}

TEST_CASE("many tensors of one wrong rule do not hide the right ones", "[likeness]") {
  Weights weights;
  auto samples = right_matrices(weights);
  Names wrong;
  for (int expert = 0; expert < 20; ++expert) {
    wrong.push_back("experts." + std::to_string(expert) + ".up");
    samples.push_back(matrix(wrong.back(), {weights.apart(512)}));
  }
  REQUIRE(unlike(samples) == wrong);
}

TEST_CASE("layers in another order are told by what stands outside them", "[likeness]") {
  Weights weights;
  std::vector<TensorSample> samples{matrix("embedding", {weights.moved(512, 0, 0.1F)})};
  Names wrong;
  for (const char* kind : {"q", "k", "v", "o", "up", "down"})
    for (const char* layer : {"layers.0.", "layers.1.", "layers.2."})
      samples.push_back(matrix(wrong.emplace_back(std::string(layer) + kind), {weights.apart(512)}));
  REQUIRE(unlike(samples) == wrong);
  for (Moments& sums : samples.front().blocks)
    sums = moments_of(std::vector<float>{1, 2, 4}, std::vector<float>{1, 2, 4});
  REQUIRE_FALSE(judge(samples).can_tell());  // as sinusoids are in all trainings
  samples.erase(samples.begin());
  REQUIRE_FALSE(judge(samples).can_tell());
}

TEST_CASE("two layers that were exchanged are told by the others", "[likeness]") {
  Weights weights;
  std::vector<TensorSample> samples;
  Names wrong;
  for (const char* kind : {"q", "k", "v"}) {
    for (const char* layer : {"layers.1.", "layers.2."})
      samples.push_back(matrix(wrong.emplace_back(std::string(layer) + kind), {weights.apart(512)}));
    for (const char* layer : {"layers.0.", "layers.3."})
      samples.push_back(matrix(std::string(layer) + kind, {weights.moved(512, 0, 0.1F)}));
  }
  REQUIRE(unlike(samples) == wrong);
  REQUIRE(judge(samples).typical > 0.9);
}

TEST_CASE("vectors are judged by kind, and not where their spread grew", "[likeness]") {
  Weights weights;
  auto samples = right_matrices(weights);
  for (const char* name : {"layers.0.bias", "layers.1.bias"}) samples.push_back(vector(name, weights.apart(16)));
  REQUIRE(unlike(samples) == Names{"layers.0.bias", "layers.1.bias"});
  for (auto& sample : samples)
    if (sample.is_vector())
      for (Moments& sums : sample.blocks) {  // as if all of ours were ten times as large
        sums.x *= 10;
        sums.xx *= 100;
        sums.xy *= 10;
      }
  REQUIRE(unlike(samples).empty());
}

TEST_CASE("norms that were exchanged are told, though they are near 1", "[likeness]") {
  Weights weights;
  auto samples = right_matrices(weights);
  auto norm = [&] {
    Pair pair = weights.moved(32, 0, 0.05F);
    for (auto* side : {&pair.ours, &pair.theirs})
      for (float& each : *side) each = 1 + 0.02F * each;
    return pair;
  };
  const Pair before = norm();
  const Pair after = norm();
  samples.push_back(vector("layers.0.before", before));
  samples.push_back(vector("layers.0.after", after));
  REQUIRE(unlike(samples).empty());
  samples.pop_back();
  samples.pop_back();
  samples.push_back(vector("layers.0.before", {after.ours, before.theirs}));
  samples.push_back(vector("layers.0.after", {before.ours, after.theirs}));
  REQUIRE(unlike(samples) == Names{"layers.0.before", "layers.0.after"});
  REQUIRE(judge(samples).unlike.front().other == samples.size() - 1);
}

TEST_CASE("chance alone accuses no block", "[likeness]") {
  Weights weights;
  auto samples = right_matrices(weights, 1.2F);  // much moved: 0.64
  std::vector<Pair> blocks;
  for (int i = 0; i < 5000; ++i) blocks.push_back(weights.moved(64, 0, 1.2F));
  samples.push_back(matrix("e", blocks, true));
  REQUIRE(unlike(samples).empty());
}

TEST_CASE("where much moved, what moved most is told from what is in other places", "[likeness]") {
  Weights weights;
  auto samples = right_matrices(weights, 2);                                    // 0.45
  samples.push_back(matrix("small at first", {weights.moved(4096, 0, 4.5F)}));  // 0.22
  REQUIRE(judge(samples).can_tell());
  REQUIRE(unlike(samples).empty());
  samples.push_back(matrix("wrong", {weights.apart(4096)}));
  REQUIRE(unlike(samples) == Names{"wrong"});
}

TEST_CASE("a matrix of which a quarter is in its place is told, also where much moved", "[likeness]") {
  Weights weights;
  auto samples = right_matrices(weights, 0.62F);  // 0.85
  std::vector<Pair> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(i % 4 == 0 ? weights.moved(4096, 0, 0.62F) : weights.apart(4096));
  samples.push_back(matrix("wrong", blocks));
  REQUIRE(unlike(samples) == Names{"wrong"});
}

TEST_CASE("what is read is bounded, and spread over a large model", "[likeness]") {
  std::vector<SampledTensor> tensors;
  for (ParameterId p = 0; p < 20000; ++p)
    tensors.push_back({"layers." + std::to_string(p) + ".w", p, p, {4096, 4096}, nullptr});
  tensors.push_back({"embedding", 20000, 20000, {128000, 4096}, nullptr});
  std::uint64_t boxes = 0;
  for (const TensorBoxes& each : choose_boxes(tensors, 1ULL << 40)) {
    for (const Box& box : each.boxes) {
      REQUIRE(numel(box.shape()) == 512);
      REQUIRE(contains(whole(tensors[each.tensor].shape), box));
    }
    boxes += each.boxes.size();
  }
  REQUIRE(boxes == 16384);
}

TEST_CASE("a small matrix is read whole, and judged by rows", "[likeness]") {
  const std::vector<SampledTensor> tensors{{"w", 0, 0, {10, 24}, nullptr}};
  const auto chosen = choose_boxes(tensors, 960);
  REQUIRE(chosen.size() == 1);
  REQUIRE(chosen.front().boxes == std::vector<Box>{whole({10, 24})});
  REQUIRE(blocks_of(chosen.front(), 0, {10, 24}) == std::vector<Interval>{{0, 72}, {72, 144}, {144, 240}});
}

TEST_CASE("boxes of odd shapes lie inside", "[likeness]") {
  for (const Shape& shape : {Shape{70000, 1, 4}, Shape{3, 100003}, Shape{7, 11, 13, 101}, Shape{1, 1, 1, 99999}}) {
    const std::vector<SampledTensor> tensors{{"w", 0, 0, shape, nullptr}};
    for (const Box& box : choose_boxes(tensors, numel(shape) * 2).front().boxes) REQUIRE(contains(whole(shape), box));
  }
}
