// Which cards hold a parameter, according to `at`, `indices`, `boxes` and the sharing of files together.
#include <algorithm>
#include <iterator>

#include "layout/placement/placement_builder.hpp"

namespace ckpt {

namespace {

/// Converts boxes that count a grid's pieces to elements.
Boxes in_elements(const Boxes& boxes, const std::vector<std::uint64_t>& grid, const Shape& shape) {
  for (std::size_t d = 0; d < grid.size(); ++d)
    if (grid[d] != 0 && shape[d] % grid[d] != 0)
      throw Error(Kind::layout, "dimension " + std::to_string(d) + " of " + to_string(shape),
                  {std::to_string(shape[d]) + " elements do not divide by " + std::to_string(grid[d]),
                   "a multiple of it, as \"grid\" says", "say what each card holds in elements, without \"grid\""});
  Boxes scaled;
  for (const auto& [card, box] : boxes) {
    Box& larger = scaled.emplace(card, box).first->second;
    for (std::size_t d = 0; d < grid.size(); ++d) {
      const std::uint64_t piece = grid[d] == 0 ? 1 : shape[d] / grid[d];
      larger.set(d, {box[d].lo * piece, box[d].hi * piece});
    }
  }
  return scaled;
}

}  // namespace

std::shared_ptr<const BoxCover> PlacementBuilder::cover(const Keys& keys, const Shape& shape,
                                                        const std::string& where) {
  Shape padded = shape;
  if (keys.pad)
    for (const auto& [dim, pad] : *keys.pad) padded[dim] = std::max(pad.size, BoxCover::reach(*keys.boxes)[dim]);
  auto& known = covers_[{keys.boxes.get(), {padded.begin(), padded.end()}}];
  if (!known)
    with_context(where, [&] {
      known = keys.grid
                  ? std::make_shared<const BoxCover>(in_elements(*keys.boxes, *keys.grid, shape), shape, layout().mesh)
                  : std::make_shared<const BoxCover>(*keys.boxes, padded, layout().mesh);
    });
  return known;
}

/// A card with an explicit box must be among those that indices and shared files leave to the parameter.
void PlacementBuilder::check_at_of_boxes(const BoxCover& boxes, const At& at, const std::string& where) const {
  const Mesh& mesh = layout().mesh;
  for (std::size_t number = 0; number < boxes.size(); ++number)
    for (const Position position : boxes.holders(number))
      for (const auto& [axis, coordinates] : at)
        if (!std::binary_search(coordinates.begin(), coordinates.end(), mesh.coordinate(position, axis)))
          throw Error(Kind::layout, where,
                      {"boxes give a part to card " + std::to_string(mesh.card(position)) + ", at " + mesh.axes[axis] +
                           "=" + std::to_string(mesh.coordinate(position, axis)),
                       "cards at " + format_list(coordinates) + " of that axis alone, where it lives",
                       "check boxes and indices"});
}

/// The contents of a file that cards share along an axis are held once, at coordinate 0.
At PlacementBuilder::shared_at(const std::string& stored) const {
  At at;
  const CardFiles& files = layout().files;
  for (const Axis axis : files.shared_axes(layout().mesh, files.entry_of(stored).value_or(0), stored)) at[axis] = {0};
  return at;
}

At PlacementBuilder::at_of(const Keys& keys, const std::string& stored, const At& counted) const {
  return both(keys.at.value_or(At{}), both(counted, shared_at(stored)));
}

void PlacementBuilder::check_not_shared(const std::vector<Axis>& cut_over, const std::string& stored,
                                        const std::string& where) const {
  const CardFiles& files = layout().files;
  const std::size_t entry = files.entry_of(stored).value_or(0);
  for (const Axis axis : files.shared_axes(layout().mesh, entry, stored))
    if (std::find(cut_over.begin(), cut_over.end(), axis) != cut_over.end())
      throw Error(Kind::layout, where,
                  {"it is cut over \"" + layout().mesh.axes[axis] + "\", which the path of its files, \"" +
                       files.entries()[entry].path.text() + "\", does not name",
                   "parameters of a file that cards share to be whole along that axis",
                   "name the axis in the path: {" + layout().mesh.axes[axis] + "}"});
}

At both(const At& a, const At& b) {
  At result = a;
  for (const auto& [axis, coordinates] : b) {
    const auto found = result.find(axis);
    if (found == result.end()) {
      result.emplace(axis, coordinates);
    } else {
      std::vector<std::uint64_t> shared;
      std::set_intersection(found->second.begin(), found->second.end(), coordinates.begin(), coordinates.end(),
                            std::back_inserter(shared));
      found->second = std::move(shared);
    }
  }
  return result;
}

}  // namespace ckpt
