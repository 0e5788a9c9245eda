#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proof/replicas.hpp"

namespace ckpt {

/// Says which entries of `indices` a layout may lack.
class MissingCounts {
 public:
  MissingCounts(const ReplicatedFiles& files, Communicator& processes) : files_(files), processes_(processes) {}

  /// The entries that would make parameters of their own of what cards hold of one parameter along these axes: for each
  /// axis the first number in its name, not counted yet, of which everything that has it differs along that axis, by
  /// samples of each kind of name. None where an axis has none. Collective; the same on every process.
  const std::vector<IndexRule>& of(ParameterId parameter, const std::vector<Axis>& axes);

 private:
  std::vector<IndexRule> found(ParameterId parameter, const std::vector<Axis>& axes);

  const ReplicatedFiles& files_;
  Communicator& processes_;
  /// By the text of names, which those of a kind share, and the axes.
  std::map<std::pair<std::vector<std::string>, std::vector<Axis>>, std::vector<IndexRule>> known_;
};

}  // namespace ckpt
