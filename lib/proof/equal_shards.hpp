#pragma once

#include <string>
#include <vector>

#include "proof/replicas.hpp"

namespace ckpt {

/// Looks for parameters whose shards along an axis that splits them are all the same bytes, and not one value repeated:
/// most likely a replicated parameter that the layout splits. One block of two cards is read for each parameter and
/// axis; where these agree, what `files.extent` says of all cards (with ReplicaCheck::trust nothing is read at all,
/// with sample nothing that would have to be decoded in large chunks). Gives warnings, in which parameters are grouped.
/// Collective; the same on every process.
std::vector<std::string> find_equal_shards(const ReplicatedFiles& files, Communicator& processes);

/// A parameter whose shards are all alike along some of the axes that split it.
struct EqualShards {
  ParameterId parameter = 0;
  std::vector<Axis> axes;  ///< ascending

  static auto fields(auto& self) { return std::tie(self.parameter, self.axes); }
};

/// The same in words: a warning for each split that such parameters have in common.
std::vector<std::string> describe_equal_shards(const Placement& placement, const std::vector<EqualShards>& found);

}  // namespace ckpt
