#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "draft/evidence.hpp"
#include "draft/facts.hpp"

namespace ckpt::drafting {

/// Pieces that cards store under one name, as one run of elements: a buffer that was cut over an axis.
class FlatBuffer {
 public:
  /// `cards`: those along the axis, in its order; each stores a piece without or with one dimension.
  FlatBuffer(const NameFacts& facts, std::vector<Position> cards, CardData& data);

  std::uint64_t size() const noexcept { return starts_.back(); }
  /// Where the piece of a card begins, by its coordinate on the axis; and the end.
  const std::vector<std::uint64_t>& starts() const noexcept { return starts_; }
  void read(Interval elements, std::span<std::byte> out) const;

 private:
  std::string stored_;
  std::uint64_t element_;
  std::vector<Position> cards_;
  std::vector<std::uint64_t> starts_;
  CardData& data_;
};

/// What a tensor begins with: as many elements as every way of cutting leaves together.
struct Beginning {
  std::string name;
  std::string bytes;
};

/// Where in a buffer tensors begin, by their names: the first place of each beginning. One of several elements that are
/// all the same, and one of zeros, tell nothing, and are not found.
std::map<std::string, std::uint64_t> find_beginnings(const FlatBuffer& buffer, std::uint64_t element,
                                                     const std::vector<Beginning>& beginnings);

}  // namespace ckpt::drafting
