#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/facts.hpp"

namespace ckpt::drafting {

/// The pieces that cards store under one name, as one run of elements: a buffer that was cut over an axis.
class FlatBuffer {
 public:
  /// `cards`: those along the axis, in its order; each stores a piece of one dimension, or nothing.
  FlatBuffer(const NameFacts& facts, std::vector<Position> cards, CardData& data);

  std::uint64_t size() const noexcept { return starts_.back(); }
  /// The beginning of each card's piece, by its coordinate on the axis; and the end of the last.
  const std::vector<std::uint64_t>& starts() const noexcept { return starts_; }
  void read(Interval elements, std::span<std::byte> out) const;

 private:
  std::string stored_;
  std::uint64_t element_;
  std::vector<Position> cards_;
  std::vector<std::uint64_t> starts_;
  CardData& data_;
};

/// A tensor's first elements: as many as every way of cutting leaves together.
struct Beginning {
  std::string name;
  std::string bytes;
};

/// The first place in a buffer of each tensor's beginning, by name. Skips beginnings that prove nothing: several equal
/// elements, and zeros.
std::map<std::string, std::uint64_t> find_beginnings(const FlatBuffer& buffer, std::uint64_t element,
                                                     const std::vector<Beginning>& beginnings);

}  // namespace ckpt::drafting
