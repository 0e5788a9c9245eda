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

/// Finds keys that stand more than once. It takes time in proportion to their number, whatever they are, and keeps its
/// memory for the next list: fresh memory is slow.
class RepeatedKeys {
 public:
  static constexpr std::uint64_t bytes_per_key = 9;  ///< that it takes: the keys once, and what is counted of them
  static constexpr std::size_t most_named = 1024;    ///< it looks no further where it has found so many

  using Take = std::function<void(std::span<const std::uint64_t>)>;
  using Read = std::function<void(const Take&)>;

  /// `read` gives its argument all keys, piece by piece, and is called twice. Of those in the subset, gives what stands
  /// more than once, each once, ascending; nothing where the two readings differed.
  std::optional<std::vector<std::uint64_t>> find(const Read& read, KeySubset subset);

 private:
  std::uint64_t count(const Read& read, KeySubset subset);
  bool gather(const Read& read, KeySubset subset, std::uint64_t count);
  void add_repeated(std::span<const std::uint64_t> bucket, std::vector<std::uint64_t>& found);

  unsigned bucket_bits_ = 0;
  std::vector<std::uint64_t> ends_;  // of each bucket
  Buffer buckets_;
  std::vector<std::uint64_t> seen_;    // a bit for each place that a value of a bucket may have
  std::vector<std::uint16_t> places_;  // those that more than one has
  std::vector<std::uint64_t> candidates_;
};

}  // namespace ckpt
