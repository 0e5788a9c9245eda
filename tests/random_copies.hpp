#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tensor/strided_copy.hpp"

namespace ckpt {

/// A copy between two places of one block.
struct PlacedCopy {
  StridedCopy copy;
  std::uint64_t source;
  std::uint64_t target;
};

/// Random copies of any rank, order of dimensions, gaps, element size and alignment, from the first part of a block to
/// the rest, which none of them shares with another.
class RandomCopies {
 public:
  explicit RandomCopies(std::uint64_t seed) : engine_(seed) {}

  /// Copies that together move about `bytes`.
  std::vector<PlacedCopy> take(std::uint64_t bytes, std::uint64_t largest) {
    std::vector<PlacedCopy> copies;
    for (std::uint64_t moved = 0; moved < bytes; moved += copies.back().copy.bytes() + 1)
      copies.push_back(one(between(1, between(0, 9) == 0 ? largest : 1 + largest / 50)));
    source_bytes_ = (source_bytes_ + 255) / 256 * 256;
    for (PlacedCopy& each : copies) each.target += source_bytes_;
    return copies;
  }
  std::uint64_t source_bytes() const { return source_bytes_; }
  std::uint64_t block_bytes() const { return source_bytes_ + target_bytes_; }

 private:
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + engine_() % (high - low + 1); }

  PlacedCopy one(std::uint64_t bytes) {
    const std::uint64_t element = between(0, 2) == 0 ? between(1, 33) : 1ULL << between(0, 5);
    const std::size_t rank = between(0, 6);
    Shape shape(rank, 1);
    std::uint64_t left = std::max<std::uint64_t>(bytes / element, 1);
    for (std::size_t d = rank; d-- > 0;) {
      shape[d] = between(1, d == 0 ? left : std::min<std::uint64_t>(left, between(0, 2) == 0 ? 64 : 5));
      left /= shape[d];
    }
    std::uint64_t source_size = 0;
    std::uint64_t target_size = 0;
    const Shape source = strides(shape, source_size);
    const Shape target = strides(shape, target_size);
    return {strided_copy(shape, source, target, element), take_room(source_bytes_, source_size * element),
            take_room(target_bytes_, target_size * element)};
  }

  /// Strides of an array that holds the box with its dimensions in any order, with room around it or without.
  Shape strides(const Shape& shape, std::uint64_t& size) {
    std::vector<std::size_t> order(shape.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (between(0, 2) == 0) std::shuffle(order.begin(), order.end(), engine_);
    const bool has_room = between(0, 2) == 0;
    Shape result(shape.size());
    size = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      result[order[i]] = size;
      size *= shape[order[i]] + (has_room ? between(0, 3) : 0);
    }
    return result;
  }

  /// A place after all others, on a boundary of 1 to 32 bytes.
  std::uint64_t take_room(std::uint64_t& used, std::uint64_t bytes) {
    const std::uint64_t step = 1ULL << between(0, 5);
    const std::uint64_t at = (used + step - 1) / step * step;
    used = at + bytes;
    return at;
  }

  std::mt19937_64 engine_;
  std::uint64_t source_bytes_ = 0;
  std::uint64_t target_bytes_ = 0;
};

}  // namespace ckpt
