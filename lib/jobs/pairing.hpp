#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "jobs/types/compare_job.hpp"
#include "jobs/types/selection.hpp"
#include "layout/placement/resolve.hpp"

namespace ckpt {

/// One side of a comparison: a checkpoint's files, and its layout applied to them.
struct ComparedSide {
  Checkpoint files;
  Resolved resolved;
  const DirectoryIndex* index = nullptr;  ///< of its format

  const Placement& placement() const noexcept { return resolved.placement; }
};

/// What the metadata of two checkpoints, A and B, shows about their differences, and what remains to be compared.
class Pairing {
 public:
  /// `of_a`: A's parameters that count; `names`: which of B's do. The sides must outlive it. Throws usage if a
  /// parameter belongs to a table on one side only.
  Pairing(const CompareJob& job, const ComparedSide& a, const ComparedSide& b, Selection of_a,
          const CountedNames& names);

  const ComparedSide& a() const noexcept { return a_; }
  const ComparedSide& b() const noexcept { return b_; }
  /// For each of B's parameters that both have, the number of A's.
  const std::vector<ParameterId>& a_of() const noexcept { return a_of_; }
  /// Where B's parameters lie in several of A's (Planner::Links).
  const Planner::Links& links() const noexcept { return links_; }
  /// A's parameters that count, under the names that B is to have.
  const Selection& of_a() const noexcept { return of_a_; }
  /// B's parameters that count.
  const Selection& of_b() const noexcept { return of_b_; }
  /// For each of A's parameters, whether it counts.
  const std::vector<bool>& is_chosen() const noexcept { return is_chosen_; }
  /// The parameters whose elements are to be compared, by B's numbers.
  const std::vector<ParameterId>& parameters() const noexcept { return parameters_; }
  /// The comparison as far as the metadata allows.
  const CompareReport& comparison() const noexcept { return comparison_; }

 private:
  void pair(std::size_t of_a, ParameterId in_b);
  bool is_of_table(ParameterId in_a, ParameterId in_b) const;
  void pair_rows(const Tensor& a, const Tensor& b);
  bool is_comparable(const DType& a, const DType& b) const;
  void add(Difference::What what, const std::string& name, const std::string& a, const std::string& b);
  void compare_values(ParameterId in_a, ParameterId in_b);
  void note_prefix(bool can_rename);

  bool is_tolerant_;
  const ComparedSide& a_;
  const ComparedSide& b_;
  std::vector<ParameterId> a_of_;  // by B's parameter; meaningless for those that only B has
  Planner::Links links_;
  std::vector<bool> is_chosen_;  // by A's parameter
  Selection of_a_;
  Selection of_b_;
  std::vector<ParameterId> parameters_;
  CompareReport comparison_;
};

}  // namespace ckpt
