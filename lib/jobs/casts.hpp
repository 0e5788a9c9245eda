#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "jobs/selection.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// What dtype floating-point parameters are to be written in.
struct CastRule {
  DType dtype;
  Pattern names;  ///< as read
  /// Also those whose numbers mean something only together with another's (number_ties).
  bool takes_tied = false;
};

/// Gives the selected floating-point tensors the dtypes that the rules say; where several match, the last decides.
/// Tensors of a quantised model, whose numbers mean something only together with another's, stay as they are under a
/// rule for all names, and throw usage under one that names them, unless the rule takes them. Gives warnings: of rules
/// that match no such tensor, and of what stayed. `left_out`: tensors of the model that the source is without; scales
/// whose codes are among them stay, too.
std::vector<std::string> cast(const std::vector<CastRule>& rules, const Placement& source, Selection& selection,
                              const std::vector<Tensor>& left_out = {});

/// How many of a selection's tensors have another dtype than in the source.
std::uint64_t count_cast(const Selection& selection, const Placement& source);

/// Elements of a parameter that were finite, and are infinite in the dtype that they were written in.
struct Overflow {
  std::string parameter;
  std::string dtype;
  std::uint64_t elements = 0;
};

/// What all processes together have found, in the order of the parameters, each with a warning. `is_resumed`: an
/// earlier run may have found more. Collective.
std::vector<Overflow> tell_overflows(const std::map<ParameterId, std::uint64_t>& mine, const Placement& target,
                                     bool is_resumed, Communicator& processes);

}  // namespace ckpt
