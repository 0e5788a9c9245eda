#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "layout/tables/keyed_table.hpp"

namespace ckpt {

__extension__ using Wide = unsigned __int128;

/// Division by a fixed number, as a multiplication and shifts (Granlund and Montgomery 1994, figure 4.1).
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

/// Computes the server of a key: the steps of a `place` for a given number of servers, checked and prepared for many
/// keys.
class KeyPlace {
 public:
  /// The result for a value without a server: a key beyond `rows`, or one whose remainder is negative.
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

  /// Throws in the words of the caller.
  using RefuseStep = std::function<void(std::size_t step, const Error::Text& why)>;
  /// Refuses steps that do not fit together, or whose last value may not be below `servers`: as an error of the layout
  /// whose object is the step's index, unless the caller knows the step's place.
  KeyPlace(const std::vector<PlaceStep>& steps, std::uint64_t servers, const RefuseStep& refuse = {});

  /// Returns the field of a row that determines its place instead of its key; empty: the key does.
  const std::string& field() const noexcept { return field_; }
  std::uint64_t servers() const noexcept { return servers_; }

  /// Replaces each value, a key or a field, by its server, or by `nowhere`.
  void apply(std::span<std::uint64_t> values) const;
  std::uint64_t server(std::uint64_t value) const;
  /// Returns the number of shards: the bound of the values before the last step, if that step alone deals them to the
  /// servers (`blocks`, or `mod` by the number of servers). Otherwise nothing.
  std::optional<std::uint64_t> shards() const noexcept { return shards_; }
  /// The first replaces each value by its shard, or by `nowhere`; the second replaces each shard by its server.
  void apply_up_to_shards(std::span<std::uint64_t> values) const;
  void apply_to_shards(std::span<std::uint64_t> shards) const { apply(steps_.back(), shards); }
  /// Returns the value after each step that computes one, in order, with the server last.
  std::vector<std::uint64_t> trace(std::uint64_t value) const;

 private:
  struct Step {
    PlaceStep said;
    std::optional<Divisor> divisor;  // of mod, and of blocks
    Signedness sign = Signedness::none;
    std::uint64_t longer = 0;  // of balanced blocks: how many have one more element
    bool may_be_lost = false;  // an earlier step may have made a value `nowhere`
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
  // While the steps are checked:
  const RefuseStep* refuse_ = nullptr;
  std::size_t index_ = 0;
  std::optional<std::uint64_t> range_;  // bound of the values; nothing: unbounded
  Signedness sign_ = Signedness::none;
  bool may_be_lost_ = false;
};

}  // namespace ckpt
