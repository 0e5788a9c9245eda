#pragma once

#include <string>
#include <vector>

#include "engine/job.hpp"
#include "layout/placement.hpp"

namespace ckpt {

/// Whether a job takes the parameter of this logical name (--only, --drop).
bool is_kept(const Job& job, const std::string& logical_name);

/// The name that a job gives the parameter of this logical name (--rename).
std::string new_name(const Job& job, const std::string& logical_name);

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
