#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ckpt::cli {

/// Card ids in few words, however many there are: runs of equal steps.
class CardIds {
 public:
  struct Run {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t step = 1;

    std::uint64_t count() const noexcept { return (last - first) / step + 1; }
    friend bool operator==(const Run&, const Run&) = default;
  };

  CardIds() = default;
  /// In any order; each id once.
  explicit CardIds(std::vector<std::uint64_t> ids);

  /// `id` must be larger than all present ones.
  void add(std::uint64_t id);

  std::uint64_t count() const noexcept { return count_; }
  const std::vector<Run>& runs() const noexcept { return runs_; }
  /// "0-31, 48"; with steps as Slurm writes them, "0-56:8"; after `most` runs "… (12 more)" cards.
  std::string text(std::size_t most = 4) const;

  friend bool operator==(const CardIds&, const CardIds&) = default;

 private:
  std::vector<Run> runs_;
  std::uint64_t count_ = 0;
};

}  // namespace ckpt::cli
