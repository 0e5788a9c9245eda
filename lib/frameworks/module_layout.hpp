#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frameworks/deepspeed_files.hpp"
#include "frameworks/whole_optimizer.hpp"
#include "frameworks/zero_states.hpp"
#include "layout/layout.hpp"
#include "store/catalog.hpp"

namespace ckpt::deepspeed {

/// What a layout without `files` says of a model's weights and buffers, by the names that the model has for them: how
/// the model ranks have cut them. All else the files say themselves.
struct ModuleLayout {
  const Layout* weights = nullptr;          ///< the layout itself
  std::string axis;                         ///< of the model ranks
  std::uint64_t ranks = 1;                  ///< its size
  std::optional<std::uint64_t> data_ranks;  ///< of the axis `dp`, where there is one
  std::string rules;                        ///< `parameters` and `default`, as JSON
  /// Of ZeRO-3, which has no weights to tell their shapes: for each the keys of its rule with its whole shape, as JSON;
  /// and for each buffer those of its rule.
  std::map<std::string, std::string> keys_of_pieces = {};
  std::vector<StateOfWeight> states = {};  ///< of ZeRO-0
};

/// `layout` must outlive it. Throws layout for one that says more, or has another number of axes beside `dp` than one.
ModuleLayout module_layout(const Layout& layout);

/// Throws layout where weights or buffers of a model have no rule, and need one: it names them all.
void check_rules(const Layout& layout, const std::vector<std::string>& names);

/// The weights and buffers that a model rank has: what is in its file, and of ZeRO-3 what stands for its weights.
std::vector<std::string> names_of_module(const Schema& model, const ModelStates& states);

/// Throws input where the files are of other numbers of ranks than its mesh has.
void check_module(const ModuleLayout& module, const TagFiles& files, const ModelStates& states);

/// ModuleLayout::keys_of_pieces, from what each model rank says of its shapes. Throws as resolve_source where the
/// layout does not fit them, and layout for rules that say more than how the model ranks have cut a weight.
std::map<std::string, std::string> keys_of_pieces(const ModuleLayout& module, const TagFiles& files,
                                                  const std::vector<ModelStates>& ranks);

}  // namespace ckpt::deepspeed
