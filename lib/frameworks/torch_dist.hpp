#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layout/placement/placement.hpp"
#include "store/store.hpp"

namespace ckpt {

namespace torch_dist {

/// Parts of names in a checkpoint of `--ckpt-format torch`, and in torch_dist.
inline constexpr std::string_view weights_folder = "model/";
inline constexpr std::string_view state_prefix = "optimizer.state.";
/// What a module saves besides weights: one object each, which is not a parameter.
inline constexpr std::string_view extra_state = "_extra_state";

}  // namespace torch_dist

/// Whether an output of this format is a directory of Megatron's torch_dist.
bool is_torch_dist(const Store& format);

/// Whether a file has the form of an output of this format.
bool has_form_of(const FileCatalog& file, const Store& format);

/// The names in Megatron's torch_dist (megatron-core 0.14 and later, one tensor for each layer, `fully_reshardable`)
/// for the tensors of a checkpoint of `--ckpt-format torch`, whose weights are below "model/" and whose optimizer's
/// state has a weight's name below a word of its own: "model/a.weight" → "a.weight", "exp_avg/a.weight" →
/// "optimizer.state.exp_avg.a.weight". Empty for a tensor that has no place there, such as states of generators. Throws
/// usage if there is no weight, and for experts, which torch_dist stacks.
std::vector<std::string> torch_dist_names(const std::vector<Tensor>& tensors);

/// A warning if such names use other words for the optimizer's states than those that Megatron reads; else nothing.
std::string unread_states(const std::vector<std::string>& names);

/// Checks tensors that already have such names. Throws usage, naming the first, for an optimizer's state in a form that
/// depends on the ranks (`dp_reshardable`).
void check_torch_dist_names(const std::vector<Tensor>& tensors);

}  // namespace ckpt
