#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frameworks/zero_states.hpp"
#include "store/catalog.hpp"

namespace ckpt::deepspeed {

/// The master weights of a group of parameters, a flat tensor in each rank's optimizer file: ZeRO-1's and 2's,
/// ZeRO-3's.
inline constexpr const char* flat_groups = "optimizer_state_dict/single_partition_of_fp32_groups/";
inline constexpr const char* flat_groups_of_pieces = "optimizer_state_dict/fp32_flat_groups/";

/// The weights and buffers in a file of model states, and ZeRO-2's copies of frozen weights.
inline constexpr const char* weights_folder = "module/";
inline constexpr const char* frozen_folder = "frozen_param_fragments/";

/// What the master weights are called.
inline constexpr const char* master_word = "fp32";

/// ZeRO-1 and 2 cut a group so that each rank's slice is a multiple of so many elements.
inline constexpr std::uint64_t slice_multiple = 2;

/// A tensor that the optimizer's files have for a group: the master weights, or what the optimizer keeps.
struct GroupState {
  std::string stored;     ///< its name in the files
  std::string word;       ///< "fp32", "exp_avg", "step"
  bool is_flat = false;   ///< one element for each of the group's, cut over the ranks; else the same on all
  bool is_short = false;  ///< of flat ones: saved without the padding
};

struct ZeroGroup {
  std::uint64_t align = 1;  ///< elements, at a multiple of which each parameter begins
  std::vector<GroupState> states;
};

/// What the files of all ranks have for each group of `states`. `of_pieces`: of ZeRO-3, not of ZeRO-1 or 2. Throws
/// input where they are not of that, are not as many as there are ranks, or keep for a group what is neither one value
/// nor one for each element.
std::vector<ZeroGroup> zero_groups(const ModelStates& states, const std::vector<const Schema*>& optimizers,
                                   bool of_pieces);

}  // namespace ckpt::deepspeed
