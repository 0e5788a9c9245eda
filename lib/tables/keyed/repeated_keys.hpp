#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.hpp"

namespace ckpt {

/// The keys whose mixed bits (`mix`) begin with the `bits` bits of `number`: all keys if bits is 0.
struct KeySubset {
  unsigned bits = 0;
  std::uint64_t number = 0;
};

/// Finds keys that occur more than once. It takes time in proportion to their number, as long as they fit into the
/// given memory; distinct keys that were not made to collide fit if their number does. It keeps its memory for the next
/// list: fresh memory is slow.
class RepeatedKeys {
 public:
  static constexpr std::uint64_t bytes_per_key = 9;  ///< memory: the key itself, and the counters
  static constexpr std::size_t most_named = 1024;    ///< it stops after finding this many

  using Take = std::function<void(std::span<const std::uint64_t>)>;
  using Read = std::function<void(const Take&)>;

  /// `read` passes all keys to its argument, piece by piece. It is called twice, and more often if the subset has more
  /// than `most` keys: no more are kept at a time. Returns the keys of the subset that occur more than once, each once,
  /// ascending; nothing if two readings differed. If the subset has about `expected` keys (as many as stated), and
  /// these are distinct, a single reading suffices.
  std::optional<std::vector<std::uint64_t>> find(const Read& read, KeySubset subset, std::uint64_t most,
                                                 std::uint64_t expected = 0);
  /// Finds the repeated keys of a subset if all keys are in memory.
  std::vector<std::uint64_t> find(std::span<const std::uint64_t> keys, KeySubset subset = {});

 private:
  using KeyList = std::vector<std::uint64_t>;

  bool add_found(const Read& read, KeySubset subset, std::uint64_t most, KeyList& found);
  bool add_of_parts(const Read& read, KeySubset subset, std::uint64_t most, KeyList& found);
  void choose_buckets(std::uint64_t all);
  std::uint64_t* values_of(std::uint64_t count);
  bool gather(const Read& read, KeySubset subset, std::uint64_t count);
  bool add_at_once(const Read& read, KeySubset subset, std::uint64_t most, std::uint64_t expected, KeyList& found);
  void add_repeated(std::span<std::uint64_t> bucket, KeyList& found);

  std::vector<std::uint64_t> fine_;  // how many keys of a subset begin with each value of fine_bits bits
  unsigned bucket_bits_ = 0;
  std::vector<std::uint64_t> ends_;  // by bucket
  Buffer buckets_;
  std::vector<std::uint64_t> seen_;    // one bit for each place that a value of a bucket may have
  std::vector<std::uint16_t> places_;  // places that more than one value has
  std::vector<std::uint64_t> candidates_;
  std::vector<std::uint64_t> few_;
};

}  // namespace ckpt
