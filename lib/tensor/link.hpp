#pragma once

#include <optional>

#include "tensor/region.hpp"

namespace ckpt {

/// One side of a link: element u of the link has index base[d] + steps[k] · u[k] in dimension d = dims[k] of this
/// side's tensor, and index base[d] in a dimension along which no axis runs. At most one axis runs along a dimension.
struct LinkSide {
  Shape base;
  Shape dims;   ///< by axis of the link
  Shape steps;  ///< by axis of the link; positive
};

/// Elements of a tensor that are elements of another one: on both sides a box with steps. Each side has its own order
/// of axes.
struct Link {
  Shape size;  ///< by axis
  LinkSide source;
  LinkSide target;
};

/// Reduces `part`, a box of a link's axes, to the elements that lie in `box` of one side's tensor. Returns false if
/// there are none.
bool narrow(Box& part, const LinkSide& side, const Box& box);

/// Returns the smallest box of a side's tensor that contains a part of a link.
Box hull(const LinkSide& side, const Box& part);

/// Returns the part of a region that a part of a link takes: a box of the link's axes, with its place in the region's
/// array.
Region restricted(const Region& region, const LinkSide& side, const Box& part);

/// Returns the link from the source of `first` to the target of `then`, through the elements of the tensor between them
/// that both contain; nothing if they share none. Along each dimension both are evenly spaced, and so is their common
/// part.
std::optional<Link> joined(const Link& first, const Link& then);

}  // namespace ckpt
