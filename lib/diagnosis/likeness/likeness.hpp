#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "diagnosis/likeness/compare_samples.hpp"
#include "diagnosis/likeness/verdict.hpp"
#include "jobs/types/selection.hpp"

namespace ckpt {

/// Tensors that a job makes, and another checkpoint that has some of them, of any step of the same training.
struct LikenessSources {
  const Planner& planner;
  const Readers& readers;
  SourceReader& reader;     ///< of the planner's source
  const NameChoice& names;  ///< of the planner's source
  const Checkpoint& other;
  const Placement& of_other;
  SourceStore& store;
  std::string other_name;     ///< in messages
  std::uint64_t memory = 0;   ///< for windows on the other's files, in bytes
  std::size_t most_open = 1;  ///< of the other's files
  unsigned threads = 1;
  std::function<bool(ParameterId)> is_weight = {};  ///< of the planner's target; null: all
};

/// The evidence that another checkpoint gives about the places of elements.
struct LikenessFound {
  double typical = 0;               ///< the usual correlation
  bool is_compared = false;         ///< else nothing can be compared
  bool tells = false;               ///< else the other checkpoint is of another training, or of none
  std::vector<std::string> unlike;  ///< tensors whose elements are in other places
  std::string first;                ///< "correlation 0.02 at [512, 0]", of the first of them
  std::string change;               ///< what would fit: another rule or name; empty: nothing is known
};

/// Compares samples (likeness/verdict.hpp). If tensors are unlike, tries the one-word changes of their rule, and the
/// names of other tensors. `excused`: tensors that may be unlike. Reads some thousand boxes of 512 elements at most.
/// Collective; the same on every process.
LikenessFound find_unlike(const LikenessSources& sources, const std::vector<Pattern>& excused, Communicator& processes);

/// Throws input if tensors are unlike; warns if the other checkpoint tells nothing. Collective.
void check_likeness(const LikenessSources& sources, const std::vector<Pattern>& excused, Communicator& processes);

/// Explains differences that a comparison has found; empty if nothing can be compared. Collective.
std::string likeness_in_words(const LikenessSources& sources, Communicator& processes);

}  // namespace ckpt
