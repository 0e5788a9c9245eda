#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "store/paddle/lines.hpp"
#include "tables/keyed/repeated_keys.hpp"

namespace ckpt {

/// The keys of one shard's file, collected while it is read, to detect keys that occur twice. Equal keys can only lie
/// in one file. If there are more keys than may be kept, only a subset by mixed bits is kept, halved as often as
/// necessary.
class ShardKeys {
 public:
  /// `most`: limit on the keys that are kept, at least 1.
  explicit ShardKeys(std::uint64_t most) : most_(most) {}

  void add(std::uint64_t key);
  /// Throws input, naming the lines, if a key occurs twice in the file that the keys come from. Reads the file again
  /// for each subset that was not kept, and to find the lines. Afterwards it is ready for another file.
  void check(const std::filesystem::path& file, const RowFields& fields, ShardOf shard, std::size_t piece_bytes);

 private:
  bool is_kept(std::uint64_t key) const noexcept;

  std::uint64_t most_;
  unsigned bits_ = 0;         // bits of the mixed key that select its subset
  std::uint64_t subset_ = 0;  // the subset that is kept
  std::vector<std::uint64_t> keys_;
  RepeatedKeys repeated_;
};

}  // namespace ckpt
