#pragma once

#include <string>
#include <vector>

#include "layout/naming.hpp"
#include "layout/placement.hpp"

namespace ckpt {

/// Compares the parameters whose rules borrow by `like` with those that they borrow from: a moment of another shape
/// than its weight means that one of the two rules is wrong, however well both fit the stored shapes.
class Likeness {
 public:
  /// Parameters are added in the order of the placement; a bucket's member has no decision.
  void add(const Decision& decision);
  void add_member();
  /// Whether its rule borrows.
  bool is_like(ParameterId parameter) const { return !parameters_[parameter].likes.empty(); }

  /// Throws an error of this kind for two logical shapes that differ where neither rule gives `shape`; gives warnings
  /// where one is given only because flat pieces do not tell it. A parameter without dimensions is passed over: its
  /// rule cuts nothing.
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
