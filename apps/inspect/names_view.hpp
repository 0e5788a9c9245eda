#pragma once

#include <cstddef>
#include <optional>

#include "jobs/types/selection.hpp"
#include "report/output.hpp"

namespace ckpt::cli {

/// Describes the tensors that a choice takes from a checkpoint through a map of names. Each line names the source
/// tensors, the number of copies, and the shortest run of elements that moves together.
Lines names_text(const Placement& placement, const NameChoice& names, std::optional<std::size_t> width);

/// The maps that come with the programs, and how many of a checkpoint's names each side of them takes.
Lines ready_maps_text(const Placement& placement, std::optional<std::size_t> width);

}  // namespace ckpt::cli
