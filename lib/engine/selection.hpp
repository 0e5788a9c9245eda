#pragma once

#include <string>
#include <vector>

#include "engine/job.hpp"
#include "layout/pattern_index.hpp"
#include "layout/placement.hpp"

namespace ckpt {

/// What a job says of names, made ready to be asked about many of them. The job must stay where it is.
class Wishes {
 public:
  explicit Wishes(const Job& job);

  /// Whether the parameter of this logical name is taken (--only, --drop).
  bool is_kept(const std::string& logical_name) const {
    return (takes_all_ || only_.first(logical_name)) && !drop_.first(logical_name);
  }
  /// The name that it is given (--rename).
  std::string new_name(const std::string& logical_name) const;

 private:
  const Job& job_;
  bool takes_all_;
  PatternIndex only_;
  PatternIndex drop_;
  PatternIndex rename_;
};

/// What is to be written: the kept tensors under their new names, and where each comes from.
struct Selection {
  std::vector<Tensor> tensors;         ///< sorted by name
  std::vector<ParameterId> source_of;  ///< the source's parameter, parallel to tensors
};

/// Throws usage when two parameters get one name, or nothing is left.
Selection select(const Job& job, const Placement& source);

/// The layout of the output.
Layout target_layout(const Job& job, const Layout& source);

}  // namespace ckpt
