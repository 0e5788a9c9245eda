#pragma once

#include <string>
#include <vector>

#include "inspect/panel.hpp"

namespace ckpt::cli {

/// "over dp=2, tp=4": the axes that are longer than 1; empty if there are none.
std::string over_axes(const Mesh& mesh, const std::vector<Axis>& axes);

/// "dp=1 tp=3": coordinates of a card on the axes that are longer than 1.
std::string coordinates_text(const Mesh& mesh, const std::vector<Axis>& axes, Position position);

/// "pp=0": the coordinates that an array is confined to; empty: it is on every card.
std::string home_of(const Placement& placement, ArrayId array);

/// The shard that these cards hold.
Shard shard_of(const Placement& placement, ArrayId array, const std::vector<Position>& positions);

}  // namespace ckpt::cli
