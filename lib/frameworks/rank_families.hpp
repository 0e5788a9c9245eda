#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ckpt {

/// Files of one kind, each a rank's: their names differ in one number.
struct RankFamily {
  std::string before;  ///< of the names, what is before the number and behind it
  std::string behind;
  std::string label;  ///< what tells it from other families: "model" of model_world_size_8_rank_{}.pt
  struct File {
    std::uint64_t rank = 0;
    std::size_t file = 0;  ///< its place among the names
  };
  std::vector<File> files;  ///< by their ranks
};

/// The families of two files or more, and those of a job of one rank (world_size_1_rank_0). Throws input where several
/// numbers vary: those are files of several jobs.
std::vector<RankFamily> rank_families(const std::vector<std::string>& names);

}  // namespace ckpt
