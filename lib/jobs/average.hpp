#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/averaged_files.hpp"
#include "compare/replicas.hpp"
#include "exchange/exchange.hpp"
#include "jobs/types/name_mapping.hpp"
#include "jobs/types/resources.hpp"
#include "jobs/types/selection.hpp"
#include "jobs/types/weighted_place.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// A job's choices for the checkpoints that it averages.
struct AverageChoice {
  const std::vector<WeightedPlace>& places;  ///< the first one's, too
  const NameChoice& names;                   ///< of the first one's parameters
  const MapChoice& map;
  const std::vector<Pattern>& first_copies;
  std::optional<DType> dequantised = {};
  std::vector<std::filesystem::path> models = {};  ///< that may have a config.json
  bool is_like_model = false;                      ///< where no map is said, it asks for one
  bool is_told = true;                             ///< reports what is averaged, and what is left out
  const Resources& resources;
};

/// Makes `first` the average of all checkpoints. `placement`: its own; `taken`: by its parameter, the dtype of the
/// average, or nothing for a parameter that the job does not take. Reports the average. Collective. Throws input for
/// checkpoints whose tensors differ in name, in shape, or in elements of other types than floating-point numbers.
/// Throws usage for quantised checkpoints, and for files that some process does not see.
void average(Checkpoint& first, Placement placement, const std::vector<std::optional<DType>>& taken,
             const AverageChoice& choice, SourceStore& store, Communicator& processes);

/// Unless a choice says what it takes, leaves out of it the optimizer's state that a checkpoint has: moments of several
/// runs have no meaningful average. Tells the user if `is_told`. Collective.
void leave_out_states(const Checkpoint& first, NameChoice& names, bool is_told, Communicator& processes);

/// Checks the bytes of all checkpoints but the first against their layouts, as `check_source` does. Collective.
void check_others(const AveragedFiles& files, ReplicaCheck extent, unsigned threads, std::size_t most_open,
                  SourceStore& store, Exchange& exchange, Communicator& processes);

/// Warns of each averaged checkpoint that no longer has the contents in its own manifest: by the sums of what was read
/// of it (AveragedFiles::sums); or if these are not of all that was taken, as of a job that goes on, by reading all of
/// it again. Collective.
void warn_of_changed_sources(const AveragedFiles& files, const Resources& resources, Stores& stores,
                             Communicator& processes);

/// The averaged checkpoints, as JSON for a manifest and a job's description: paths, weights, and a fingerprint of each
/// checkpoint's tensors, if its manifest has them. Collective.
std::string averaged_json(const Checkpoint& averaged, const std::vector<WeightedPlace>& places,
                          Communicator& processes);

}  // namespace ckpt
