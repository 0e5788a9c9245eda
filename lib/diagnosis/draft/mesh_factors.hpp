#pragma once

#include <optional>
#include <vector>

#include "diagnosis/draft/facts.hpp"

namespace ckpt::drafting {

/// A mesh that explains which cards hold what: the cards that hold anything of a parameter must be those with some
/// coordinates, and its classes those of cards that agree on some of the axes. Chooses the mesh for which this takes
/// the fewest words (coordinates and axes), then the one with the fewest axes, named a0, a1 and so on. Nothing if
/// several meshes are equally good, or one axis suffices.
std::optional<Mesh> mesh_of_classes(const std::vector<Classes>& classes);

}  // namespace ckpt::drafting
