#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layout/maps/map_sizes.hpp"
#include "layout/maps/name_map.hpp"
#include "layout/names/pattern_index.hpp"

namespace ckpt {

/// Trainers save weights below this key of a torch file; rules name them without it.
inline constexpr std::string_view weights_folder = "model/";
/// DCP joins all keys of a name by dots.
inline constexpr std::string_view weights_key = "model.";
/// "model/decoder.w" becomes "decoder.w", and "model.model.norm" "model.norm". Names that rules have as they are come
/// first.
std::string without_folder(const std::string& name);

/// What to do where all names begin with words that a map does not know, "module.": `is_known` says whether it knows
/// the rest. Empty if it is not so.
std::string advice_on_prefix(const std::vector<std::string>& names,
                             const std::function<bool(const std::string& rest)>& is_known);

/// A state's name in its parts.
struct StateOfName {
  std::string weight;
  std::string state;
};
/// Matches a side's pattern of states. Behind "{name}." the state is the last word.
std::optional<StateOfName> state_of(const Pattern& pattern, const std::string& name);

/// The values of axes, and of captures that are text.
struct AxisValues {
  std::map<std::string, std::uint64_t> numbers;
  std::map<std::string, std::string> texts;

  friend auto operator<=>(const AxisValues&, const AxisValues&) = default;
};

/// The tensors of one side of a map as they are called in one checkpoint: stacked or not.
class SideNames {
 public:
  struct Entry {
    std::size_t rule = 0;
    std::size_t tensor = 0;
    TensorTemplate text;
  };

  SideNames(const NameMap& map, const MapSizes& sizes, MapSide side, const std::vector<bool>& is_stacked);
  SideNames(const SideNames&) = delete;
  SideNames& operator=(const SideNames&) = delete;

  struct Match {
    std::size_t entry = 0;
    AxisValues values;
    std::optional<std::size_t> state_pattern;  ///< an optimizer's state, by this pattern of the side
    std::string state = {};
    std::string name = {};  ///< as rules have it, without `weights_folder`
  };
  /// Returns the first rule's tensor that has this name, itself or as its state. `skip`: rules that do not count.
  std::optional<Match> match(const std::string& name, const std::vector<bool>& skip) const;
  /// Returns the values of the axes in a name of this tensor; nothing if it is none: a number is out of range, or not
  /// written as it would be.
  std::optional<AxisValues> values(const TensorTemplate& text, const std::string& name) const;
  /// Returns the name of a tensor with these values, or of its state.
  std::string name(const TensorTemplate& text, const AxisValues& values) const;
  std::string state_name(std::size_t state_pattern, const std::string& state, const std::string& name) const;

  const std::vector<Entry>& entries() const noexcept { return entries_; }
  const TensorTemplate& text(std::size_t rule, std::size_t tensor) const {
    return entries_[first_[rule] + tensor].text;
  }
  std::size_t entry(std::size_t rule, std::size_t tensor) const { return first_[rule] + tensor; }
  bool has_states() const noexcept { return !map_.states[side_].empty(); }

 private:
  std::optional<Match> match_plain(const std::string& name, const std::vector<bool>& skip) const;

  const NameMap& map_;
  const MapSizes& sizes_;
  MapSide side_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> first_;  // by rule: its first entry
  PatternIndex index_;
};

/// Whether a rule holds for these values; nothing if that depends on axes without a value.
std::optional<bool> holds(const Formula& when, const std::set<std::string>& name_axes, const AxisValues& values,
                          const MapSizes& sizes);

/// Calls visit(values) for each combination of the axes that have no value yet.
void for_each_value(const std::vector<std::string>& axes, const MapSizes& sizes, AxisValues& values,
                    const std::function<void(const AxisValues&)>& visit);

}  // namespace ckpt
