#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "layout/pattern.hpp"
#include "layout/placement.hpp"

namespace ckpt {

/// What may differ from a reference: the names of its tensors that may be missing, those of others that may be there,
/// and whether dtypes may.
struct Excuses {
  std::vector<Pattern> missing;
  std::vector<Pattern> extra;
  bool any_dtype = false;
};

/// Names that one side alone has, and which of the excuses for them were of use.
struct LoneNames {
  std::vector<std::string> unexcused;
  std::vector<bool> is_used;  ///< parallel to the excuses
};

/// How tensors deviate from those that a reference expects.
struct Deviations {
  std::string reference;           ///< what the lines call it
  std::uint64_t tensors = 0;       ///< that deviate
  std::vector<std::string> lines;  ///< what is wrong; one for all tensors of one pattern, and for their state
  LoneNames missing;
  LoneNames extra;
  std::string renames;  ///< PrefixChange::renames, where one prefix explains most of what is missing

  /// "2 parameters are not as ref.json has them".
  std::string outcome() const;
};

/// What would give the tensor `found[number]` the shape that is expected: the end of a line, or nothing.
using ShapeHint = std::function<std::string(std::size_t number, const Extents& expected)>;

/// Compares names, shapes and dtypes (not the byte order that they are stored in). Both lists are sorted by name;
/// `reference` is what the lines call the one that expects.
Deviations deviations(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                      const std::string& reference, const Excuses& excuses, const ShapeHint& hint);

/// A warning for each excuse that was of use for none of these, which were all made with `excuses`.
std::vector<std::string> idle_excuses(const Excuses& excuses, const std::vector<const Deviations*>& all);

}  // namespace ckpt
