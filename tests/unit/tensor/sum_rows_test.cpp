#include "tensor/sum_rows.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

namespace {

using Bytes = std::vector<std::byte>;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  Bytes bytes(std::size_t size) {
    Bytes bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(engine_());
    return bytes;
  }

 private:
  std::mt19937_64 engine_;
};

/// Rows at random distances, the first at a random byte of memory and of its tensor.
struct Case {
  explicit Case(Random& random) {
    const std::uint64_t lengths[] = {1, 3, 4, 7, 16, 33, 64, 65, 130, 1000, 5000, 9001};
    rows.bytes = lengths[random.below(std::size(lengths))] + random.below(3);
    rows.loop = {1 + random.below(6), rows.bytes + random.below(70), rows.bytes + random.below(70),
                 rows.bytes + random.below(9000)};
    source_at = random.below(9);
    target_at = random.below(9);
    offset = random.below(3) == 0 ? 4096 * random.below(4) + 4090 + random.below(10) : random.below(1ULL << 40);
    source = random.bytes(source_at + rows.loop.count * rows.loop.source_stride);
  }

  Rows rows;
  std::uint64_t source_at = 0;
  std::uint64_t target_at = 0;
  std::uint64_t offset = 0;
  Bytes source;
};

/// A page of memory between two that nobody may touch.
class GuardedPage {
 public:
  GuardedPage()
      : memory_(static_cast<std::byte*>(mmap(nullptr, 3 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(mprotect(begin(), bytes, PROT_READ | PROT_WRITE) == 0);
  }
  ~GuardedPage() { munmap(memory_, 3 * bytes); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;
  GuardedPage(GuardedPage&&) = delete;
  GuardedPage& operator=(GuardedPage&&) = delete;
  std::byte* begin() const { return memory_ + bytes; }
  std::byte* end() const { return memory_ + 2 * bytes; }
  static inline const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

 private:
  std::byte* memory_;
};

/// Byte by byte, through the one-piece sum that the model's vectors are checked with.
PartialSum expected_sum(const Case& of) {
  PartialSum sum;
  for (std::uint64_t row = 0; row < of.rows.loop.count; ++row)
    for (std::uint64_t i = 0; i < of.rows.bytes; ++i)
      sum += sum_of(std::span(of.source).subspan(of.source_at + row * of.rows.loop.source_stride + i, 1),
                    of.offset + row * of.rows.loop.tensor_stride + i);
  return sum;
}

Bytes expected_copy(const Case& of, Bytes target) {
  for (std::uint64_t row = 0; row < of.rows.loop.count; ++row)
    std::copy_n(of.source.data() + of.source_at + row * of.rows.loop.source_stride, of.rows.bytes,
                target.data() + of.target_at + row * of.rows.loop.target_stride);
  return target;
}

}  // namespace

TEST_CASE("every way to sum rows that this processor has gives the same, and copies nothing but the rows") {
  Random random(11);
  for (int i = 0; i < 400; ++i) {
    const Case of(random);
    const PartialSum sum = expected_sum(of);
    const Bytes before = random.bytes(of.target_at + of.rows.loop.count * of.rows.loop.target_stride);
    const Bytes copied = expected_copy(of, before);
    CAPTURE(of.rows.bytes, of.rows.loop.count, of.source_at, of.target_at, of.offset);
    for (const RowSummer summer : row_summers())
      for (const KeySets sets : {KeySets::both, KeySets::low}) {
        const PartialSum wanted{sum.low, sets == KeySets::both ? sum.high : 0, sum.bytes};
        PartialSum found;
        summer(sets, of.rows, of.source.data() + of.source_at, nullptr, of.offset, found);
        CHECK(found == wanted);
        Bytes target = before;
        PartialSum fused;
        summer(sets, of.rows, of.source.data() + of.source_at, target.data() + of.target_at, of.offset, fused);
        CHECK(fused == wanted);
        CHECK((target == copied));
      }
  }
}

TEST_CASE("not a byte beside the rows is touched") {
  const GuardedPage source;
  const GuardedPage target;
  for (const RowSummer summer : row_summers())
    for (std::uint64_t bytes = 0; bytes <= 200; ++bytes)
      for (std::uint64_t offset = 4090; offset < 4098; ++offset) {
        const Rows rows{{1, 0, 0, 0}, bytes};
        PartialSum sum;
        summer(KeySets::both, rows, source.begin(), target.begin(), offset, sum);
        summer(KeySets::both, rows, source.end() - bytes, target.end() - bytes, offset, sum);
        summer(KeySets::low, rows, source.begin(), nullptr, offset, sum);
        summer(KeySets::low, rows, source.end() - bytes, nullptr, offset, sum);
        CHECK(sum.bytes == 4 * bytes);
      }
}

TEST_CASE("copying and summing at once is copying and summing") {
  Random random(12);
  for (int i = 0; i < 300; ++i) {
    Shape shape;
    for (std::uint64_t rank = random.below(5); rank > 0; --rank) shape.push_back(1 + random.below(rank > 2 ? 5 : 40));
    const std::uint64_t element = std::vector<std::uint64_t>{1, 2, 4, 8, 12, 64}[random.below(6)];
    Shape tensor;  // the box lies somewhere in it
    Box box = whole(shape);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::uint64_t lo = random.below(4);
      box.set(d, {lo, lo + shape[d]});
      tensor.push_back(lo + shape[d] + random.below(3));
    }
    const auto permuted = [&] {
      std::vector<std::size_t> order(shape.size());
      for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
      for (std::size_t d = order.size(); d > 1; --d)
        if (random.below(3) == 0) std::swap(order[d - 1], order[random.below(d)]);
      Shape strides(shape.size());
      std::uint64_t next = 1;
      for (std::size_t d = order.size(); d-- > 0;) {
        strides[order[d]] = next;
        next *= shape[order[d]];
      }
      return strides;
    };
    const Region region{box, 0, permuted()};
    const Shape target_strides = permuted();
    Shape tensor_strides = row_major_strides(tensor);
    const std::uint64_t apart = 1 + random.below(3) * random.below(6);  // elements follow one another with gaps
    for (std::size_t d = 0; d < shape.size(); ++d) tensor_strides[d] *= apart;
    const Bytes source = random.bytes(numel(shape) * element);
    PartialSum sum;
    for (std::uint64_t at = 0; at < numel(shape); ++at) {
      Shape index = box.lo;
      std::uint64_t stored = 0;
      std::uint64_t left = at;
      for (std::size_t d = shape.size(); d-- > 0; left /= shape[d]) {
        index[d] += left % shape[d];
        stored += left % shape[d] * region.strides[d];
      }
      std::uint64_t offset = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) offset += index[d] * tensor_strides[d];
      sum += sum_of(std::span(source).subspan(stored * element, element), offset * element);
    }
    Bytes expected(source.size());
    run(strided_copy(shape, region.strides, target_strides, element), source.data(), expected.data());
    Bytes target(source.size());
    CAPTURE(to_string(shape), to_string(region.strides), to_string(target_strides), element);
    CHECK(copy_and_sum(region, element, source.data(), target.data(), target_strides, tensor_strides, KeySets::both) ==
          sum);
    CHECK(sum_of(region, element, source.data(), tensor_strides) == sum);
    CHECK((target == expected));
  }
}

TEST_CASE("there is nothing to copy in an empty region") {
  const Region empty{Box{{0, 3}, {4, 3}}, 0, {1, 1}};
  CHECK(copy_and_sum(empty, 4, nullptr, nullptr, {1, 1}, {7, 1}, KeySets::both) == PartialSum{});
}
