#pragma once

#include <filesystem>
#include <functional>
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
  /// How the parameters that a job takes of a checkpoint do, under their new names.
  Deviations of(const Selection& selection, const Placement& source,
                const std::function<bool(const std::string& name)>& is_expected) const;
  Deviations of(const Selection& selection, const Resolved& source, const NameChoice& choice) const;

 private:
  std::optional<Reference> reference_;
  Excuses excuses_;
};

/// Prints the lines of deviations, of what `object` names, and throws input; warns of what is only that.
void refuse_deviations(const Deviations& found, const std::string& object);

}  // namespace ckpt
