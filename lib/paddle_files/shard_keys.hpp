#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "keyed/repeated_keys.hpp"
#include "paddle_text/lines.hpp"

namespace ckpt {

/// The keys of one shard's file, gathered while it is read, so that one that stands twice is found. Equal keys can only
/// lie in one file. Where there are more than may be kept, only a subset by mixed bits is, halved as often as needed.
class ShardKeys {
 public:
  /// `most`: keys that may be kept, 1 at least.
  explicit ShardKeys(std::uint64_t most) : most_(most) {}

  void add(std::uint64_t key);
  /// Throws input, naming the lines, where a key stands twice in the file that the keys are of. Reads it again for each
  /// subset that has not been kept, and to find the lines. Then it is ready for another file.
  void check(const std::filesystem::path& file, const RowFields& fields, ShardOf shard, std::size_t piece_bytes);

 private:
  bool is_kept(std::uint64_t key) const noexcept;

  std::uint64_t most_;
  unsigned bits_ = 0;         // of the mixed key, that tell its subset
  std::uint64_t subset_ = 0;  // that is kept
  std::vector<std::uint64_t> keys_;
  RepeatedKeys repeated_;
};

}  // namespace ckpt
