#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/reference.hpp"
#include "jobs/selection.hpp"
#include "layout/expectation.hpp"

namespace ckpt {

/// What a job holds names, shapes and dtypes against.
struct Expectation {
  std::filesystem::path reference;
  Excuses excuses;
};

/// The reference of an expectation, read; without one nothing deviates.
class ExpectedTensors {
 public:
  /// Collective; throws as Reference::load does.
  ExpectedTensors(const std::optional<Expectation>& expectation, SourceStore& store, Communicator& processes);

  /// The shape that a parameter of this name is to have; nothing where the reference does not say.
  std::optional<Extents> shape(const std::string& name) const;

  /// How all parameters of a checkpoint deviate.
  Deviations of(const Placement& placement) const;
  /// How the parameters that a job takes of a checkpoint do, under their new names. `names`: which of the reference's
  /// count; null: all. Without `has_hints` nothing is said of what would give each another shape.
  Deviations of(const Selection& selection, const Placement& source, const CountedNames* names,
                bool has_hints = true) const;

  /// Warns of the excuses that were of use for none of these deviations.
  void warn_of_idle(const std::vector<const Deviations*>& all) const;
  /// The same for one checkpoint's; prints its lines, and throws input, of what `object` names, where there are any.
  /// `change`: of the layout, that would leave none; empty: none is known. `can_rename`: the job can be told to.
  void refuse(const Deviations& found, const std::string& object, const std::string& change = "",
              bool can_rename = false) const;

  /// Whether anything is expected.
  explicit operator bool() const noexcept { return reference_.has_value(); }

 private:
  std::optional<Reference> reference_;
  Excuses excuses_;
};

}  // namespace ckpt
