#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "jobs/types/name_mapping.hpp"
#include "layout/language/layout.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// The folder of the maps that come with the programs: that of the environment variable CKPT_NAMES, else the one beside
/// the program.
std::filesystem::path ready_maps();

/// A side of a map that comes with the programs, and a checkpoint's names.
struct MapFit {
  std::string map;
  std::string side;
  std::string other_side;
  std::vector<std::string> models;  ///< values of config.json's model_type that the map is for
  std::uint64_t taken = 0;          ///< names that the side's rules take, themselves or as a tensor's state
  std::size_t rules = 0;
};

/// Returns the sides that take any of the names: the one that takes most first, and of equal ones the map with fewest
/// rules. For one process.
std::vector<MapFit> fits_of_ready_maps(const std::vector<std::string>& names);

/// Why no map makes `wanted` of `names`, and the option that says one; found is empty if that is not so: a map is in
/// use, or none that comes with the programs has most of these names. For one process.
Error::Text missing_map(const NameMapping& mapping, const std::vector<std::string>& names,
                        const std::vector<std::string>& wanted);

/// The places in which a job looks for a map, its side and its sizes.
struct MapPlaces {
  const Layout* source = nullptr;  ///< may say the source's side; null: not known
  const Layout* target = nullptr;
  bool is_like_model = false;                 ///< where no map is said, config.json does
  std::vector<std::filesystem::path> models;  ///< directories that may have a config.json; the first that has counts
  bool are_sides_named = false;  ///< patterns may be of a side: a map is returned, too, that has nothing to convert
};

/// Whether a layout of the source or of the output has "names", or a config.json lies beside a model: only then may
/// there be a map that nobody asked for. Collective.
bool may_say_map(const MapPlaces& places, Communicator& processes);

/// The mapping that `choice`, or "names" in the layouts, asks for; null if none does. Process 0 reads the files.
/// Collective. Throws layout for a bad map, usage for one that cannot be found.
std::shared_ptr<const NameMapping> load_mapping(const MapChoice& choice, const MapPlaces& places, MapWish wish,
                                                Communicator& processes);

/// Compares the sizes that a mapping used for a checkpoint with those that its trainer recorded (Megatron's arguments).
/// Warns if `recut_states`, tensors of the optimizer's state, are Muon's: it updates each matrix as a whole. For one
/// process. Throws input.
void check_trainer(const NameMapping& mapping, const std::vector<std::string>& recut_states, const Checkpoint& source,
                   SourceStore& store);

}  // namespace ckpt
