#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/mesh.hpp"

namespace ckpt::drafting {

/// A mesh that explains which cards hold the same: for each parameter (its cards by classes of what they hold) the
/// classes must be those of cards that agree on some of the axes. The one with the fewest axes, named a0, a1 and so on;
/// nothing where several with as few would do, or where nothing but equal or different cards is seen.
std::optional<Mesh> mesh_of_classes(const std::vector<std::vector<std::uint32_t>>& classes);

}  // namespace ckpt::drafting
