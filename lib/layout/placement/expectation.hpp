#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "layout/names/pattern.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// Permitted differences from a reference: names of its tensors that may be missing, names of additional tensors, and
/// whether dtypes may differ.
struct Allowances {
  std::vector<Pattern> missing;
  std::vector<Pattern> extra;
  bool any_dtype = false;
};

/// Names that only one side has, and which of the excuses were used for them.
struct UnmatchedNames {
  std::vector<std::string> not_allowed;
  std::vector<bool> is_used;  ///< parallel to the excuses
};

/// How tensors deviate from those that a reference expects.
struct Deviations {
  std::string reference;           ///< the reference's name in the lines
  std::uint64_t tensors = 0;       ///< number of tensors that deviate
  std::vector<std::string> lines;  ///< descriptions: one for all tensors of a pattern, and for their state
  UnmatchedNames missing;
  UnmatchedNames extra;
  std::string renames;  ///< PrefixChange::renames, if a single prefix explains most of the missing names

  /// Returns "2 parameters are not as ref.json has them".
  std::string outcome() const;
};

/// Returns a hint how tensor `found[number]` would get the expected shape: the end of a line, or nothing.
using ShapeHint = std::function<std::string(std::size_t number, const Shape& expected)>;

/// Compares names, shapes and dtypes (but not the byte order in files). Both lists are sorted by name; `reference` is
/// the name in the lines of the side that expects.
Deviations deviations(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                      const std::string& reference, const Allowances& allowances, const ShapeHint& hint);

/// Returns a warning for each excuse that none of these comparisons used, which were all made with `allowances`.
std::vector<std::string> unused_allowances(const Allowances& allowances, const std::vector<const Deviations*>& all);

}  // namespace ckpt
