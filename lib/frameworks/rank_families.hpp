#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ckpt {

/// Files of one kind, one for each rank: their names differ in one number.
struct RankFamily {
  std::string before;  ///< the parts of the names before and after the number
  std::string behind;
  std::string label;  ///< distinguishes it from other families: "model" of model_world_size_8_rank_{}.pt
  struct File {
    std::uint64_t rank = 0;
    std::size_t file = 0;  ///< index into the names
  };
  std::vector<File> files;  ///< by rank
};

/// The families of two files or more, and those of a job of one rank (world_size_1_rank_0). Throws input where several
/// numbers vary: those are files of several jobs.
std::vector<RankFamily> rank_families(const std::vector<std::string>& names);

}  // namespace ckpt
