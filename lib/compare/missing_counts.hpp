#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compare/replicas.hpp"

namespace ckpt {

/// Finds the entries of `indices` that a layout may lack.
class MissingCounts {
 public:
  MissingCounts(const ReplicatedFiles& files, Communicator& processes) : files_(files), processes_(processes) {}

  /// The entries that would make separate parameters of what cards along these axes hold of one parameter: for each
  /// axis the first number in its name that is not counted yet and whose parameters all differ along that axis, by
  /// samples of each kind of name. Empty if some axis has no such number. Collective; the same on every process.
  const std::vector<IndexRule>& of(ParameterId parameter, const std::vector<Axis>& axes);

 private:
  /// A sample of what a card stores of a parameter.
  struct CardSample {
    ParameterId parameter = 0;
    Position card = 0;
    std::uint64_t digest = 0;
    bool is_constant = false;
  };

  /// Samples those of these parameters that were not sampled yet. Collective.
  void sample(const std::vector<ParameterId>& parameters);
  std::vector<IndexRule> found(ParameterId parameter, const std::vector<Axis>& axes);

  const ReplicatedFiles& files_;
  Communicator& processes_;
  std::map<ParameterId, std::vector<CardSample>> samples_;
  /// By the text of names, which names of one kind share, and the axes.
  std::map<std::pair<std::vector<std::string>, std::vector<Axis>>, std::vector<IndexRule>> known_;
};

}  // namespace ckpt
