#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/reference.hpp"
#include "jobs/types/selection.hpp"
#include "layout/placement/expectation.hpp"

namespace ckpt {

/// The reference for a job's names, shapes and dtypes.
struct Expectation {
  std::filesystem::path reference;
  Allowances allowances;
  std::optional<DType> dequantised = {};  ///< the reference's quantised weights are expected as numbers of this type
};

/// The reference of an expectation, loaded; without one nothing deviates.
class ExpectedTensors {
 public:
  /// Collective; throws as Reference::load does.
  ExpectedTensors(const std::optional<Expectation>& expectation, SourceStore& store, Communicator& processes);

  /// The shape that a parameter of this name is to have; nothing if the reference does not say.
  std::optional<Shape> shape(const std::string& name) const;

  /// The dtype that a parameter of this name is to have.
  std::optional<DType> dtype(const std::string& name) const;
  /// The reference's name in messages.
  std::string origin() const { return reference_ ? reference_->origin() : ""; }
  /// The expected names.
  std::vector<std::string> names() const;
  /// The weight that is expected in place of these codes, where it has another name: "q.weight" for "q.qweight".
  const std::map<std::string, std::string>& weights_of_codes() const noexcept { return weights_of_codes_; }

  /// Lets the parameters that have these names in the source have any dtype: weights that become numbers.
  void excuse_dtypes(std::set<std::string> names) { of_any_dtype_ = std::move(names); }

  /// Deviations of all parameters of a checkpoint.
  Deviations of(const Placement& placement) const;
  /// Deviations of the parameters that a job takes from a checkpoint, under their new names. `names`: which of the
  /// reference's count; null: all. Without `has_hints`, does not say what would give each another shape.
  Deviations of(const Selection& selection, const Placement& source, const CountedNames* names,
                bool has_hints = true) const;

  /// Warns of excuses that none of these deviations needed.
  void warn_of_idle(const std::vector<const Deviations*>& all) const;
  /// As warn_of_idle for one checkpoint's deviations; if there are any, prints them and throws input, naming `object`.
  /// `change`: of the layout, which would remove them all; empty: none is known. `can_rename`: the job has an option
  /// for that.
  void refuse(const Deviations& found, const std::string& object, const std::string& change = "",
              bool can_rename = false) const;

  /// The expected checkpoint, or null.
  const Reference* reference() const noexcept { return reference_ ? &*reference_ : nullptr; }
  /// Whether anything is expected.
  explicit operator bool() const noexcept { return reference_.has_value(); }

 private:
  void dequantise(const DType& dtype, SourceStore& store, Communicator& processes);

  std::optional<Reference> reference_;
  std::map<std::string, std::string> weights_of_codes_;
  Allowances allowances_;
  std::set<std::string> of_any_dtype_;
};

}  // namespace ckpt
