#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frameworks/zero_states.hpp"
#include "store/catalog.hpp"

namespace ckpt::deepspeed {

/// The master weights of a group of parameters, a flat tensor in each rank's optimizer file: with ZeRO-1 and 2, and
/// with ZeRO-3.
inline constexpr const char* flat_groups = "optimizer_state_dict/single_partition_of_fp32_groups/";
inline constexpr const char* flat_groups_of_pieces = "optimizer_state_dict/fp32_flat_groups/";

/// The weights and buffers in a file of model states, and ZeRO-2's copies of frozen weights.
inline constexpr const char* weights_folder = "module/";
inline constexpr const char* frozen_folder = "frozen_param_fragments/";

/// The word for master weights.
inline constexpr const char* master_word = "fp32";

/// ZeRO-1 and 2 pad a group so that each rank's slice is a multiple of this many elements.
inline constexpr std::uint64_t slice_multiple = 2;

/// A tensor in the optimizer's files for a group: the master weights, or an optimizer's state.
struct GroupState {
  std::string stored;     ///< its name in the files
  std::string word;       ///< "fp32", "exp_avg", "step"
  bool is_flat = false;   ///< one element for each of the group's, cut over the ranks; else the same on all
  bool is_short = false;  ///< flat, and saved without the padding
};

struct ZeroGroup {
  std::uint64_t align = 1;  ///< each parameter begins at a multiple of this many elements
  std::vector<GroupState> states;
};

/// What all ranks' files have for each group of `states`. `of_pieces`: ZeRO-3 rather than ZeRO-1 or 2. Throws input if
/// the files do not fit that, are not as many as the ranks, or keep for a group something that is neither one value nor
/// one for each element.
std::vector<ZeroGroup> zero_groups(const ModelStates& states, const std::vector<const Schema*>& optimizers,
                                   bool of_pieces);

}  // namespace ckpt::deepspeed
