#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "jobs/types/selection.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

/// The dtype in which matching floating-point parameters are to be written.
struct CastRule {
  DType dtype;
  Pattern names;  ///< names as read
  /// Also casts parameters whose numbers have a meaning only together with another's (number_ties).
  bool takes_tied = false;
};

/// Gives the selected floating-point tensors the dtypes that the rules state; if several match, the last one decides.
/// Tensors of a quantised model, whose numbers have a meaning only together with another's, keep their dtype under a
/// rule for all names, and throw usage under one that names them, unless the rule takes them. Returns warnings: of
/// rules that match no such tensor, and of tensors that were left unchanged. `left_out`: tensors of the model that the
/// source lacks; scales whose codes are among them keep their dtype, too.
std::vector<std::string> cast(const std::vector<CastRule>& rules, const Placement& source, Selection& selection,
                              const std::vector<Tensor>& left_out = {});

/// Whether a rule matches a tensor's name, as it is read.
bool is_cast(const std::vector<CastRule>& rules, const Tensor& read);

/// How many of a selection's tensors have another dtype than in the source.
std::uint64_t count_cast(const Selection& selection, const Placement& source);

/// Elements of a parameter that were finite and became infinite in the dtype that they were written in.
struct Overflow {
  std::string parameter;
  std::string dtype;
  std::uint64_t elements = 0;
};

/// The overflows that all processes found, by parameter; warns of each. Collective.
std::vector<Overflow> report_overflows(const std::map<ParameterId, std::uint64_t>& mine, const Placement& target,
                                       Communicator& processes);

/// Warns of numbers of a source that became infinite on any process while its weights were dequantised or averaged.
/// Collective.
void warn_of_overflows(const Checkpoint& source, Communicator& processes);

}  // namespace ckpt
