#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.hpp"

namespace ckpt {

/// The keys whose mixed bits (`mix`) begin with the `bits` bits of `number`: all, where bits is 0.
struct KeySubset {
  unsigned bits = 0;
  std::uint64_t number = 0;
};

/// Finds keys that stand more than once. It takes time in proportion to their number, as long as they fit into the
/// memory given; keys that differ, and were not made to meet, then fit if their number does. It keeps its memory for
/// the next list: fresh memory is slow.
class RepeatedKeys {
 public:
  static constexpr std::uint64_t bytes_per_key = 9;  ///< that it takes: the keys once, and what is counted of them
  static constexpr std::size_t most_named = 1024;    ///< it looks no further where it has found so many

  using Take = std::function<void(std::span<const std::uint64_t>)>;
  using Read = std::function<void(const Take&)>;

  /// `read` gives its argument all keys, piece by piece, and is called twice, and more often where more than `most`
  /// keys of the subset come: no more are kept at a time. Of those in the subset, gives what stands more than once,
  /// each once, ascending; nothing where two readings differed. Where about `expected` keys of the subset come, as many
  /// as is told, and they differ, one reading is enough.
  std::optional<std::vector<std::uint64_t>> find(const Read& read, KeySubset subset, std::uint64_t most,
                                                 std::uint64_t expected = 0);
  /// The same for a subset's keys, all of them in memory.
  std::vector<std::uint64_t> find(std::span<const std::uint64_t> keys, KeySubset subset = {});

 private:
  using Found = std::vector<std::uint64_t>;

  bool add_found(const Read& read, KeySubset subset, std::uint64_t most, Found& found);
  bool add_of_parts(const Read& read, KeySubset subset, std::uint64_t most, Found& found);
  void choose_buckets(std::uint64_t all);
  std::uint64_t* values_of(std::uint64_t count);
  bool gather(const Read& read, KeySubset subset, std::uint64_t count);
  bool add_at_once(const Read& read, KeySubset subset, std::uint64_t most, std::uint64_t expected, Found& found);
  void add_repeated(std::span<std::uint64_t> bucket, Found& found);

  std::vector<std::uint64_t> fine_;  // how many keys of a subset begin with each value of so many bits
  unsigned bucket_bits_ = 0;
  std::vector<std::uint64_t> ends_;  // of each bucket
  Buffer buckets_;
  std::vector<std::uint64_t> seen_;    // a bit for each place that a value of a bucket may have
  std::vector<std::uint16_t> places_;  // those that more than one has
  std::vector<std::uint64_t> candidates_;
  std::vector<std::uint64_t> few_;
};

}  // namespace ckpt
