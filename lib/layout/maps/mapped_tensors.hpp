#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layout/maps/map_sizes.hpp"
#include "layout/maps/name_map.hpp"
#include "layout/maps/tensor_links.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// The output that a map should give, as far as it is known.
struct MapWish {
  std::vector<std::string> names;  ///< the expected ones; empty: unknown
  std::function<std::optional<Shape>(const std::string& name)> shape = {};
  /// Whether the output's layout pads a dimension itself; the tensor then has no padding.
  std::function<bool(const std::string& name, std::size_t dim)> is_padded = {};
  /// Whether the output's layout names stacked tensors; nothing if that is unknown.
  std::function<std::optional<bool>(const StackedNames&)> is_stacked = {};
  /// If no names are expected: whether the output's layout speaks of a name. A rule that makes such a name of a tensor
  /// comes before others.
  std::function<bool(const std::string& name)> is_named = {};
  bool has_states = true;          ///< else the state of an optimizer is left out
  bool allows_arithmetic = false;  ///< else rules that recompute elements are refused
};

/// The tensors of one system, expressed by those of another.
struct MappedTensors {
  struct Origin {
    ParameterId first = 0;                          ///< a source tensor
    std::shared_ptr<const TensorLinks> links = {};  ///< null: the tensor is `first`, element by element
    std::string first_name = {};
    std::size_t rule = 0;   ///< of the map
    bool is_state = false;  ///< of the optimizer
  };
  std::vector<Tensor> tensors;                             ///< sorted by name
  std::vector<Origin> origins;                             ///< parallel
  std::vector<std::pair<ParameterId, ParameterId>> equal;  ///< source tensors that must be equal
  std::vector<std::string> dropped;                        ///< names that only the source has (`drop`)
  std::string by;                                          ///< the map and its sizes, as JSON; empty: no rule was used
  std::vector<std::string> recomputed;                     ///< target tensors that arithmetic makes
  std::vector<std::string> recut_states;                   ///< target state of tensors that one side fuses
  std::vector<std::string> unpadded;                       ///< what is left out of source tensors as padding
  std::uint64_t states = 0;                                ///< tensors of an optimizer's state that are left out
  std::vector<std::string> passed_over;                    ///< target tensors whose rules find no source tensor
};

/// The scales of a tensor of codes, which have its dimensions or are one number.
struct CodeScales {
  std::string codes;
  Shape block;             ///< how many codes share a scale, in each dimension
  bool is_spread = false;  ///< a dimension is one block, or each of its elements is
};

/// Source tensors with their numbers in a placement.
struct MapSource {
  std::vector<std::pair<Tensor, ParameterId>> tensors;
  bool are_all = true;  ///< else numbers in names may be missing, and whole tensors, but no pieces of one
  std::map<std::string, CodeScales> scales = {};  ///< by name: those that follow their codes, if no rule takes them
  bool has_weights = false;                       ///< a kind of state of which no tensor's weight is here is none

  std::vector<std::string> names() const;
};

/// Which tensors of the output are made, by name; empty: all.
using KeepMade = std::function<bool(const std::string& name)>;

/// Converts the tensors of side `from` to those of the other side. Throws input, naming rule and tensors, if a tensor
/// is taken by no rule, if a rule has only some of its tensors, or if a shape is not the rule's.
MappedTensors map_tensors(const NameMap& map, const MapSizes& sizes, MapSide from, const MapSource& source,
                          const MapWish& wish, const KeepMade& is_kept = {});

/// Returns how many of the names the rules of each side take, as they are or as a tensor's state.
std::array<std::uint64_t, 2> names_taken(const NameMap& map, const std::vector<std::string>& names);

/// Returns the side whose rules take more of the names; nothing if neither does, or both as many.
std::optional<MapSide> side_of_names(const NameMap& map, const std::vector<std::string>& names);

}  // namespace ckpt
