#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/keyed_table.hpp"

namespace ckpt {

__extension__ using Wide = unsigned __int128;

/// Division by a number that stays the same, as a multiplication and shifts (Granlund and Montgomery 1994, figure 4.1).
class Divisor {
 public:
  explicit Divisor(std::uint64_t by);  ///< above 0

  std::uint64_t quotient(std::uint64_t value) const noexcept {
    const auto high = static_cast<std::uint64_t>((static_cast<Wide>(multiplier_) * value) >> 64);
    return (high + ((value - high) >> first_shift_)) >> second_shift_;
  }
  std::uint64_t remainder(std::uint64_t value) const noexcept { return value - quotient(value) * by_; }
  std::uint64_t by() const noexcept { return by_; }

 private:
  std::uint64_t by_;
  std::uint64_t multiplier_;
  unsigned first_shift_;
  unsigned second_shift_;
};

/// The server of a key: the steps of a `place` for so many servers, checked and ready to be run over many keys.
class KeyPlace {
 public:
  /// What a value becomes that no server is for: a key beyond `rows`, or one whose remainder is negative.
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

  /// Throws layout, naming the step by its index in the object, where steps do not follow from one another or their
  /// last value may not be below `servers`.
  KeyPlace(const std::vector<PlaceStep>& steps, std::uint64_t servers);

  /// The field of a row that is placed in the place of its key; empty: the key itself.
  const std::string& field() const noexcept { return field_; }
  std::uint64_t servers() const noexcept { return servers_; }

  /// Replaces each value, a key or a field, by its server, or by `nowhere`.
  void apply(std::span<std::uint64_t> values) const;
  std::uint64_t server(std::uint64_t value) const;
  /// The values before the last step are below this where it deals them to the servers by itself (`blocks`, or `mod` by
  /// the number of servers): the shards. Else nothing.
  std::optional<std::uint64_t> shards() const noexcept { return shards_; }
  /// Replaces each value by its shard, or by `nowhere`; and each shard by its server.
  void apply_up_to_shards(std::span<std::uint64_t> values) const;
  void apply_to_shards(std::span<std::uint64_t> shards) const { apply(steps_.back(), shards); }
  /// What a value is after each step: those of the steps that give one, in order, the server last.
  std::vector<std::uint64_t> trace(std::uint64_t value) const;

 private:
  struct Step {
    PlaceStep said;
    std::optional<Divisor> divisor;  // of mod, and of the blocks
    Signedness sign = Signedness::none;
    std::uint64_t longer = 0;  // of balanced blocks: how many have one more
    bool may_be_lost = false;  // a value may be `nowhere` before it
  };
  Step mod(const place_step::Mod& said);
  Step blocks(const place_step::Blocks& said);
  void add(const PlaceStep& step, std::size_t index);
  static void apply(const Step& step, std::span<std::uint64_t> values);
  [[noreturn]] void refuse(const std::string& found, const std::string& expected, const std::string& remedy = {}) const;

  std::uint64_t servers_;
  std::string field_;
  std::vector<Step> steps_;
  std::optional<std::uint64_t> shards_;
  // While they are taken up:
  std::size_t index_ = 0;
  std::optional<std::uint64_t> range_;  // values are below this; nothing: any
  Signedness sign_ = Signedness::none;
  bool may_be_lost_ = false;
};

}  // namespace ckpt
