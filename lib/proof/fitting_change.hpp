#pragma once

#include <functional>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A checkpoint that does not fit its layout.
struct MisfitSource {
  const Checkpoint& checkpoint;
  SourceStore& store;
  Keep keep = {};  ///< as `resolve` takes them
  ExpectedShape expected_shape = {};
  /// Whether names, shapes and dtypes are what is expected; null: nothing is expected.
  std::function<bool(const Resolved&)> is_expected = {};
};

/// The change of a layout (the order of the mesh's axes, what a number counts, where a split's axes go) with which
/// it fits all that can be seen: names and shapes resolve and are as expected, cards that would hold the same hold the
/// same, and others something else, by samples of each kind of name. `"mesh": {"axes": […], …} would fit (a.json)`.
/// Empty where the layout fits itself, none fits, or many do that would give different tensors; a few are all told of.
/// Collective.
std::string fitting_change(const MisfitSource& source, Communicator& processes);

/// Runs `work`, which is collective. Where it fails on all processes because the checkpoint contradicts its layout, the
/// error's remedy is the change that fits, if there is one. Collective.
void explain_misfit(const MisfitSource& source, Communicator& processes, const std::function<void()>& work);

}  // namespace ckpt
