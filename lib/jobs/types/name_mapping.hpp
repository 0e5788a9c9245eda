#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layout/maps/mapped_tensors.hpp"

namespace ckpt {

/// A user's choice of the map of names between source and output.
struct MapChoice {
  std::string map = {};   ///< a file, or the name of a ready map; empty: none is said
  std::string side = {};  ///< that the source has; empty: its names tell
  std::map<std::string, std::uint64_t> sizes = {};
  bool allows_arithmetic = false;  ///< rules may recompute elements ("times", "plus")

  explicit operator bool() const noexcept { return !map.empty(); }
};

/// A map with its sizes.
struct SizedMap {
  SizedMap(NameMap its_map, const ModelConfig& config, const std::map<std::string, std::uint64_t>& given)
      : map(std::move(its_map)), sizes(map, config, given) {}
  SizedMap(const SizedMap&) = delete;
  SizedMap& operator=(const SizedMap&) = delete;

  NameMap map;
  MapSizes sizes;
  std::optional<MapSide> from = {};  ///< the source's side; nothing: its names tell
  std::optional<MapSide> to = {};
};

/// A text and its name in messages.
using OriginalText = std::pair<std::string, std::string>;

/// A map of names in a job: how the source's tensors become the output's.
class NameMapping {
 public:
  /// Uses the one of several maps that takes the source's names. `config`: the
  /// model's config.json, which may say how weights are quantised. `then`: the map of what this one makes; null: none.
  NameMapping(std::vector<std::unique_ptr<SizedMap>> maps, MapWish wish, OriginalText config = {},
              std::unique_ptr<const NameMapping> then = {});

  /// Tensors that have the output's names already stay as they are. Otherwise `by` is the map's text and sizes, and the
  /// names of tensors that it recomputes. Throws input as map_tensors does, or if no side has the
  /// names.
  MappedTensors convert(const MapSource& source, const KeepMade& is_kept = {}) const;

  /// Returns the names of the source's side and of the output's: the same if the names are the output's already.
  std::array<std::string, 2> sides_of(const MapSource& source) const;
  /// Whether these are names of the output's side.
  bool makes(const std::vector<std::string>& names) const;
  /// Whether one of the maps has a side of this name.
  bool has_side(const std::string& name) const;

  /// A tensor as a rule with one other word would make it.
  struct Change {
    std::string text;  ///< "write \"NAME [DIM, DIM]\" at llama.json: /tensors/4"
    MappedTensors::Origin origin;
  };
  /// The one-word changes of a tensor's rule that fit every shape, of the tensors of this name that they make. None for
  /// two maps, one after the other.
  std::vector<Change> changes(const MapSource& source, const std::string& name) const;

  /// Throws input if a size that was used differs from the one that the source's trainer recorded.
  void check_sizes(const ModelConfig& recorded) const;

  /// Whether any map may count; else all names stay as they are.
  bool has_maps() const noexcept { return !maps_.empty(); }
  const OriginalText& config() const noexcept { return config_; }

  /// Whether the output's side lists a name under `drop`: it holds no weight.
  bool is_no_weight(const std::string& name) const;

  /// The text of the map and the sizes in use, as JSON: what a job that is resumed must have in common with the earlier
  /// one.
  std::string json() const;

 private:
  /// A map, and the side of it that the source has.
  struct Choice {
    const SizedMap* map = nullptr;  ///< null: the names are the output's already
    MapSide from = 0;
  };
  Choice choose(const MapSource& source) const;
  MapSource with_scales(const MapSource& source) const;
  MappedTensors convert_once(const MapSource& source, const KeepMade& is_kept) const;
  const SizedMap* map_of(const std::vector<std::string>& names) const;

  std::vector<std::unique_ptr<SizedMap>> maps_;
  MapWish wish_;
  OriginalText config_;
  std::unique_ptr<const NameMapping> then_;
};

/// Returns lines for the user: what a conversion left out.
std::vector<std::string> notes_of(const MappedTensors& mapped);

}  // namespace ckpt
