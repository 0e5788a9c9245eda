#include "tensor/fingerprint.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(engine());
  return bytes;
}

}  // namespace

// From fingerprint_model.py, which shares nothing with this program but the description of the algorithm.
TEST_CASE("fingerprints are what the model says") {
  Bytes bytes(10'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 131 + (i >> 8U) * 17 + 5);
  const auto of = [&](std::size_t size, std::uint64_t offset, const std::string& text) {
    return to_string(fingerprint(sum_of(std::span(bytes).first(size), offset), text));
  };
#include "unit/tensor/fingerprint_vectors.inc"
}

TEST_CASE("any cover by boxes, stored in any way, sums to the same") {
  std::mt19937_64 engine(7);
  const auto below = [&](std::uint64_t n) { return engine() % n; };
  for (int i = 0; i < 300; ++i) {
    Shape shape;
    for (std::uint64_t rank = below(5); rank > 0; --rank) shape.push_back(1 + below(rank > 2 ? 9 : 40));
    const std::uint64_t element = std::vector<std::uint64_t>{1, 2, 3, 4, 8, 12, 16}[below(7)];
    const Bytes bytes = random_bytes(numel(shape) * element, engine());
    const Shape strides = row_major_strides(shape);
    const PartialSum expected = sum_of(bytes, 0);

    // Cut along every dimension at random, each piece permuted into a buffer of its own.
    std::vector<Box> boxes{whole(shape)};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::vector<Box> cut;
      for (const Box& box : boxes) {
        const std::uint64_t at = box.lo[d] + below(box.hi[d] - box.lo[d] + 1);
        for (const Interval part : {Interval{box.lo[d], at}, Interval{at, box.hi[d]}}) {
          Box piece = box;
          piece.set(d, part);
          if (!piece.empty()) cut.push_back(piece);
        }
      }
      boxes = std::move(cut);
    }
    std::shuffle(boxes.begin(), boxes.end(), engine);
    PartialSum sum;
    for (const Box& box : boxes) {
      std::vector<std::size_t> order(shape.size());
      for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
      std::shuffle(order.begin(), order.end(), engine);
      Shape stored(shape.size());
      std::uint64_t size = 1;
      for (const std::size_t d : order) {
        stored[d] = size;
        size *= box[d].size();
      }
      std::uint64_t first = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) first += box.lo[d] * strides[d];
      Bytes piece(size * element);
      run(strided_copy(box.shape(), strides, stored, element), bytes.data() + first * element, piece.data());
      const PartialSum part = sum_of(Region{box, 0, stored}, element, piece.data(), strides);
      const PartialSum low = sum_of(Region{box, 0, stored}, element, piece.data(), strides, KeySets::low);
      CHECK(low == PartialSum{part.low, 0, part.bytes});
      sum += part;
    }
    CAPTURE(to_string(shape), element);
    CHECK(sum == expected);
  }
}

TEST_CASE("bytes may begin and end anywhere") {
  const Bytes bytes = random_bytes(20'000, 3);
  const PartialSum whole = sum_of(bytes, 12'345);
  for (std::size_t cut = 0; cut < bytes.size(); cut += cut < 100 ? 1 : 997) {
    PartialSum sum = sum_of(std::span(bytes).first(cut), 12'345);
    sum += sum_of(std::span(bytes).subspan(cut), 12'345 + cut);
    CHECK(sum == whole);
  }
}

TEST_CASE("every single changed bit and every two swapped words of a block are found by either half") {
  Bytes bytes = random_bytes(4096, 5);
  const PartialSum before = sum_of(bytes, 4096);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1} << (i % 8);
    const PartialSum after = sum_of(bytes, 4096);
    bytes[i] ^= std::byte{1} << (i % 8);
    CHECK(after.low != before.low);
    CHECK(after.high != before.high);
  }
  for (std::size_t i = 0; i < 1024; i += 13)
    for (std::size_t j = i + 1; j < 1024; j += 7) {
      if (std::equal(bytes.begin() + 4 * i, bytes.begin() + 4 * i + 4, bytes.begin() + 4 * j)) continue;
      std::swap_ranges(bytes.begin() + 4 * i, bytes.begin() + 4 * i + 4, bytes.begin() + 4 * j);
      const PartialSum after = sum_of(bytes, 4096);
      std::swap_ranges(bytes.begin() + 4 * i, bytes.begin() + 4 * i + 4, bytes.begin() + 4 * j);
      if (after.low == before.low || after.high == before.high) FAIL("words " << i << " and " << j);
    }
}

TEST_CASE("what goes wrong in practice is found") {
  const std::uint64_t rows = 64;
  const std::uint64_t row = 1000;
  const Bytes right = random_bytes(rows * row, 9);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> seen;
  const auto note = [&](const Bytes& bytes, const std::string& what) {
    const PartialSum sum = sum_of(bytes, 0);
    const auto [other, is_new] = seen.emplace(std::pair(sum.low, sum.high), what);
    if (!is_new) FAIL(what << " looks like " << other->second);
  };
  note(right, "the right one");
  for (std::uint64_t i = 0; i < rows; ++i) {
    const auto at = [&](Bytes& bytes, std::uint64_t r) { return bytes.begin() + static_cast<std::ptrdiff_t>(r * row); };
    Bytes zeroed = right;
    std::fill(at(zeroed, i), at(zeroed, i + 1), std::byte{0});
    note(zeroed, "a zeroed row");
    for (std::uint64_t j = i + 1; j < rows; ++j) {
      Bytes swapped = right;
      std::swap_ranges(at(swapped, i), at(swapped, i + 1), at(swapped, j));
      note(swapped, "two swapped rows");
      Bytes repeated = right;
      std::copy(at(repeated, i), at(repeated, i + 1), at(repeated, j));
      note(repeated, "a repeated row");
    }
  }
  for (std::uint64_t shift = 1; shift < 300; ++shift) {
    Bytes shifted = right;
    std::rotate(shifted.begin() + 2000, shifted.begin() + 2000 + static_cast<std::ptrdiff_t>(shift),
                shifted.begin() + 9000);
    note(shifted, "a shifted piece");
  }
}

TEST_CASE("a part that is left out is found even when it is zeros") {
  const Bytes zeros(100);
  PartialSum sum = sum_of(std::span(zeros).first(60), 0);
  CHECK_FALSE(sum == sum_of(zeros, 0));
  sum += sum_of(std::span(zeros).subspan(60), 60);
  CHECK(sum == sum_of(zeros, 0));
}

TEST_CASE("name, dtype and shape are a part of a fingerprint") {
  const Bytes bytes = random_bytes(64, 1);
  const PartialSum sum = sum_of(bytes, 0);
  const Fingerprint one = fingerprint(sum, describe_tensor("w", "f32", {4, 4}));
  CHECK(one == fingerprint(sum, "w f32 [4, 4]"));
  CHECK_FALSE(one == fingerprint(sum, describe_tensor("v", "f32", {4, 4})));
  CHECK_FALSE(one == fingerprint(sum, describe_tensor("w", "i32", {4, 4})));
  CHECK_FALSE(one == fingerprint(sum, describe_tensor("w", "f32", {2, 8})));
  CHECK_FALSE(NameKey("a") * sum == NameKey("b") * sum);
  CHECK((NameKey("a") * sum).bytes == 64);
}
