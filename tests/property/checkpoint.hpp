#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "layout/placement/resolve.hpp"
#include "property/generator.hpp"

namespace model {

using Bytes = std::vector<std::byte>;

/// The bytes of an array: each element tells which it is; padding is zeros.
Bytes contents(const Array& array);

/// A case's source and target, element by element, and the source as the library is to find it.
class Checkpoint {
 public:
  explicit Checkpoint(const Case& drawn);

  const Case& drawn() const noexcept { return case_; }
  std::vector<ckpt::CardArrays> card_arrays() const;
  /// A source array's bytes: what lies beyond a tensor's end, and all but the first of differing replicas, is rubbish.
  const Bytes& source(std::uint64_t position, const std::string& name) const { return source_[position].at(name); }
  const std::vector<Card>& source_cards() const noexcept { return cards_; }
  const std::vector<Card>& target() const noexcept { return target_; }

 private:
  void fill_source();
  std::optional<ckpt::Shape> carried_shape(std::uint64_t position, const std::string& name) const;

  const Case& case_;
  std::vector<Card> cards_;
  std::vector<Card> target_;
  std::vector<std::map<std::string, Bytes>> source_;
};

/// Both layouts, for a report of what failed.
std::string describe(const Case& drawn);

/// Carries a case through the library as a run would, in memory: layouts parsed and resolved, chunks planned, strided
/// copies performed. Gives what differs from the model, or nothing.
std::string difference(const Case& drawn);

}  // namespace model
