#pragma once

#include <string>
#include <vector>

#include "layout/names/naming.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// Compares parameters whose rules borrow by `like` with those that they borrow from. If a moment's shape differs from
/// its weight's, one of the two rules is wrong, however well both fit the stored shapes.
class ShapeCheck {
 public:
  /// Parameters are added in the order of the placement; a bucket's member has no decision.
  void add(const Decision& decision);
  void add_member();
  /// Returns whether the parameter's rule borrows.
  bool borrows_rule(ParameterId parameter) const { return !parameters_[parameter].likes.empty(); }

  /// Throws an error of this kind if two logical shapes differ and neither rule gives `shape`; returns warnings if one
  /// is given only because flat pieces do not show it. Skips parameters without dimensions: their rules cut nothing.
  std::vector<std::string> check(const Placement& placement, Kind kind) const;

 private:
  struct Borrower {
    std::vector<std::string> likes;
    bool gives_shape = false;
    bool is_flat = false;
  };
  std::vector<Borrower> parameters_;  // by ParameterId
};

}  // namespace ckpt
