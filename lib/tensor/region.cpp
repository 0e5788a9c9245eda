#include "tensor/region.hpp"

#include <algorithm>
#include <optional>

namespace ckpt {

Region restricted(const Region& region, const Box& box) {
  Region part{box, region.offset, region.strides, region.fill};
  for (std::size_t i = 0; i < box.rank(); ++i) part.offset += (box.lo[i] - region.box.lo[i]) * region.strides[i];
  return part;
}

namespace {

/// The only dimension of a box that moves along one of an array's dimensions.
struct Movement {
  std::size_t dimension = 0;
  std::uint64_t first = 0;  ///< index in the array where the box begins
  std::uint64_t step = 0;   ///< from one index of the box to the next
};

/// Returns nothing if no dimension of the box moves along dimension k of a row-major array, or if several do.
/// `stride`: that of k. An offset in the array has one digit for each of its dimensions.
std::optional<Movement> movement_along(std::size_t k, std::uint64_t stride, const Region& region, const Shape& shape) {
  const auto digit = [&](std::uint64_t elements) { return elements / stride % shape[k]; };
  std::optional<Movement> found;
  for (std::size_t d = 0; d < region.box.rank(); ++d) {
    const std::uint64_t step = digit(region.strides[d]);
    if (region.box[d].size() <= 1 || step == 0) continue;
    if (found) return std::nullopt;
    found = Movement{d, digit(region.offset), step};
  }
  if (found && (region.box[found->dimension].size() - 1) > (shape[k] - 1 - found->first) / found->step)
    return std::nullopt;  // it goes on in the dimension before
  return found;
}

}  // namespace

void for_each_chunk_part(const Region& region, const Shape& shape, const Shape& chunk,
                         const std::function<void(const Region& part)>& visit) {
  const Shape strides = row_major_strides(shape);
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const auto moves = movement_along(k, strides[k], region, shape);
    if (!moves) continue;
    const Interval all = region.box[moves->dimension];
    const auto steps_to_border = [&](std::uint64_t done) {
      const std::uint64_t at = moves->first + done * moves->step;
      return ceil_div(chunk[k] - at % chunk[k], moves->step);
    };
    if (steps_to_border(0) >= all.size()) continue;
    for (std::uint64_t done = 0; done < all.size();) {
      const std::uint64_t count = std::min(steps_to_border(done), all.size() - done);
      Box box = region.box;
      box.set(moves->dimension, {all.lo + done, all.lo + done + count});
      for_each_chunk_part(restricted(region, box), shape, chunk, visit);
      done += count;
    }
    return;
  }
  visit(region);
}

}  // namespace ckpt
