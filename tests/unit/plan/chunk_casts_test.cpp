#include "plan/chunk_casts.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

/// A source of one card whose element i of each parameter is `value(i)`, cast to f32 on the way into another layout.
class CastToF32 {
 public:
  CastToF32(const Layout& to, const std::vector<Tensor>& tensors, const std::function<double(std::uint64_t)>& value)
      : source_(ckpt::fixture::target(single_card(), tensors)),
        target_(ckpt::fixture::target(to, singles(tensors))),
        readers_(source_, {}),
        planner_(source_, target_, {0, 1, 2}, readers_),
        casts(planner_) {
    for (const Tensor& tensor : source_.tensors()) {
      std::vector<std::byte> bytes;
      for (std::uint64_t i = 0; i < numel(tensor.shape); ++i) append(bytes, tensor.dtype, value(i));
      arrays_.push_back(std::move(bytes));
    }
  }

  /// What a card stores of the first array from `first` on, put together and cast in place; and what overflowed.
  std::vector<float> chunk(Position card, Interval elements) {
    const Chunk chunk{card, 0, elements, elements.size() * casts.cells()[0]};
    std::vector<std::byte> memory(chunk.bytes, std::byte{0});
    planner_.for_each_transfer(chunk, 0, [&](const Transfer& planned) {
      Transfer transfer = planned;
      casts.place(chunk, transfer.parameter, transfer);
      run(transfer.copy(), arrays_[transfer.array].data() + transfer.source.offset * transfer.element,
          memory.data() + transfer.target_offset);
    });
    overflows = casts.run(chunk, memory.data(), memory.data());
    std::vector<float> numbers(elements.size());
    std::memcpy(numbers.data(), memory.data(), numbers.size() * sizeof(float));
    return numbers;
  }

 private:
  static std::vector<Tensor> singles(std::vector<Tensor> tensors) {
    for (Tensor& tensor : tensors) tensor.dtype = f32();
    return tensors;
  }
  static void append(std::vector<std::byte>& bytes, const DType& dtype, double value) {
    const auto* const of_double = reinterpret_cast<const std::byte*>(&value);
    std::vector<std::byte> element(dtype.size);
    const NumberFormat from = number_format(*number_type("f64")).value();
    Cast(from, number_format(dtype).value()).run(of_double, element.data(), 1, [](std::uint64_t) {});
    bytes.insert(bytes.end(), element.begin(), element.end());
  }

  Placement source_;
  Placement target_;
  Readers readers_;
  Planner planner_;
  std::vector<std::vector<std::byte>> arrays_;

 public:
  ChunkCasts casts;
  ChunkCasts::Overflows overflows;
};

std::vector<Tensor> of_three_dtypes() {
  return {tensor("a", {3}, *number_type("f64")), tensor("b", {5}, *number_type("bf16")), tensor("c", {2})};
}

const Layout& bucket_of_two() {
  static const Layout layout = fixture::layout(
      R"(["x"])", "[2]",
      R"("buckets": [{"name": "flat", "axis": "x", "align": 4, "members": [{"name": "b", "shape": [5]}, {"name": "a", "shape": [3]}, {"name": "c", "shape": [2]}]}])");
  return layout;
}

}  // namespace

TEST_CASE("members that are read in several dtypes are cast to their bucket's") {
  CastToF32 job(bucket_of_two(), of_three_dtypes(), [](std::uint64_t i) { return double(i) + 1; });
  CHECK(job.casts.is_cast(0));
  CHECK(job.casts.cells()[0] == 8);
  CHECK(job.chunk(0, {0, 7}) == std::vector<float>{1, 2, 3, 4, 5, 0, 0});
  CHECK(job.chunk(1, {0, 7}) == std::vector<float>{0, 1, 2, 3, 0, 1, 2});
}

TEST_CASE("a chunk may begin and end anywhere") {
  CastToF32 job(bucket_of_two(), of_three_dtypes(), [](std::uint64_t i) { return double(i) + 1; });
  const std::vector<float> whole{0, 1, 2, 3, 0, 1, 2};
  for (std::uint64_t lo = 0; lo < whole.size(); ++lo)
    for (std::uint64_t hi = lo + 1; hi <= whole.size(); ++hi)
      CHECK(job.chunk(1, {lo, hi}) ==
            std::vector<float>(whole.begin() + std::ptrdiff_t(lo), whole.begin() + std::ptrdiff_t(hi)));
}

TEST_CASE("overflows are counted for each parameter, in its first copy alone") {
  const Layout copies = fixture::layout(R"(["x"])", "[2]", R"("default": "replicate")");
  CastToF32 job(copies, of_three_dtypes(), [](std::uint64_t i) { return i == 1 ? 1e300 : 1; });
  CHECK(job.chunk(0, {0, 3}) == std::vector<float>{1, HUGE_VALF, 1});
  CHECK(job.overflows == ChunkCasts::Overflows{{0, 1}});
  CHECK(job.chunk(1, {0, 3}) == std::vector<float>{1, HUGE_VALF, 1});
  CHECK(job.overflows.empty());
  CHECK(job.chunk(0, {2, 3}) == std::vector<float>{1});
  CHECK(job.overflows.empty());
}

TEST_CASE("what keeps its dtype is not cast") {
  CastToF32 job(fixture::layout(R"(["x"])", "[1]", R"("default": "replicate")"), of_three_dtypes(),
                [](std::uint64_t i) { return double(i); });
  CHECK(job.casts.is_cast(0));
  CHECK(job.casts.is_cast(1));
  CHECK_FALSE(job.casts.is_cast(2));
  CHECK(job.casts.cells() == std::vector<std::uint64_t>{8, 4, 4});
}
