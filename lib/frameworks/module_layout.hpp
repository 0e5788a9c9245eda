#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "frameworks/deepspeed_files.hpp"
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
};

/// `layout` must outlive it. Throws layout for one that says more, or has another number of axes beside `dp` than one.
ModuleLayout module_layout(const Layout& layout);

/// Throws layout where weights or buffers of a model have no rule, and need one: it names them all.
void check_rules(const Layout& layout, const Schema& model);

/// Throws input where the files are of other numbers of ranks than its mesh has, or not ZeRO-1's or 2's.
void check_module(const ModuleLayout& module, const TagFiles& files, const ModelStates& states);

}  // namespace ckpt::deepspeed
