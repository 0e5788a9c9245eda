#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "checkpoint/source_reader.hpp"
#include "diagnosis/likeness/sample_plan.hpp"
#include "plan/planner.hpp"
#include "processes/communicator.hpp"

namespace ckpt::likeness {

/// A comparison of the tensors that a planner makes from a source with tensors of another checkpoint.
struct Compared {
  const Planner& planner;
  const Readers& readers;
  SourceReader& source;
  SourceReader& other;
  unsigned threads = 1;
};

/// Boxes of a tensor that `planner` makes, to be compared with the same boxes of `other`.
struct Question {
  const Planner* planner = nullptr;
  ParameterId parameter = 0;  ///< of the planner's target
  ParameterId other = 0;      ///< of the other checkpoint
  DType other_dtype;
  TensorBoxes boxes;
};

/// Reads the boxes on both sides and compares them; the processes share the work. The samples are parallel to the
/// questions. Collective; the same on every process.
std::vector<TensorSample> answers(const std::vector<Question>& questions, const Compared& compared,
                                  Communicator& processes);

}  // namespace ckpt::likeness
