#pragma once

#include <functional>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A checkpoint that does not fit its layout.
struct ConflictSource {
  const Checkpoint& checkpoint;
  SourceStore& store;
  Keep keep = {};  ///< as `resolve` takes it
  ExpectedShape expected_shape = {};
  /// Whether names, shapes and dtypes are the expected ones; null: nothing is expected.
  std::function<bool(const Resolved&)> is_expected = {};
};

/// The change of a layout (the order of the mesh's axes, what a number counts, where a split's axes go) with which it
/// fits everything that can be seen: names and shapes resolve and are as expected, cards that would hold the same hold
/// the same, and others something else, by samples of each kind of name. `"mesh": {"axes": […], …} would fit (a.json)`.
/// Empty if the layout fits itself, no change fits, or many do that would give different tensors; a few are all listed.
/// Collective.
std::string fitting_change(const ConflictSource& source, Communicator& processes);

/// Runs `work`, which is collective. If it fails on all processes because the checkpoint contradicts its layout, the
/// error's remedy becomes the change that fits, if there is one. Collective.
void explain_conflict(const ConflictSource& source, Communicator& processes, const std::function<void()>& work);

}  // namespace ckpt
