#pragma once

#include <optional>
#include <vector>

#include "draft/facts.hpp"

namespace ckpt::drafting {

/// A mesh that explains which cards hold what: those that hold anything of a parameter must be those with some
/// coordinates, and its classes those of cards that agree on some of the axes. The one in which this takes the fewest
/// words (coordinates and axes), then the one with the fewest axes, named a0, a1 and so on; nothing where several would
/// do as well, or where one axis does.
std::optional<Mesh> mesh_of_classes(const std::vector<Classes>& classes);

}  // namespace ckpt::drafting
