#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frameworks/deepspeed_files.hpp"
#include "frameworks/whole_optimizer.hpp"
#include "frameworks/zero_states.hpp"
#include "layout/language/layout.hpp"
#include "store/catalog.hpp"

namespace ckpt::deepspeed {

/// How the model ranks cut a model's weights and buffers, from a layout without `files` that uses the model's own
/// names. The files themselves supply the rest.
struct ModuleLayout {
  const Layout* weights = nullptr;          ///< the layout itself
  std::string axis;                         ///< the model ranks' axis
  std::uint64_t ranks = 1;                  ///< its size
  std::optional<std::uint64_t> data_ranks;  ///< size of the axis `dp`, if there is one
  /// ZeRO-3 has no whole weights to show their shapes: for each weight its rule's keys and its whole shape; for each
  /// buffer its rule's keys. All are for the mesh of on_all_ranks.
  std::map<std::string, Keys> keys_of_pieces = {};
  std::vector<StateOfWeight> states = {};  ///< with ZeRO-0
};

/// `layout` must outlive the result. Throws layout if it says more, or has other than one axis besides `dp`.
ModuleLayout module_layout(const Layout& layout);

/// Returns its rules on the mesh of all ranks, with the axes `dp` and the model ranks'.
Layout on_all_ranks(const ModuleLayout& module, std::uint64_t data_ranks);

/// Throws layout if weights or buffers lack the rule that they need; names all of these.
void check_rules(const Layout& layout, const std::vector<std::string>& names);

/// The weights and buffers of a model rank: those in its file, and with ZeRO-3 what represents its weights.
std::vector<std::string> names_of_module(const Schema& model, const ModelStates& states);

/// Throws input if the files have other numbers of ranks than the layout's mesh.
void check_module(const ModuleLayout& module, const TagFiles& files, const ModelStates& states);

/// Computes ModuleLayout::keys_of_pieces from the shapes that each model rank states. Throws as resolve_source if the
/// layout does not fit them, and layout for rules that say more than how the model ranks cut a weight.
std::map<std::string, Keys> keys_of_pieces(const ModuleLayout& module, const TagFiles& files,
                                           const std::vector<ModelStates>& ranks);

}  // namespace ckpt::deepspeed
