#include "plan/chunk_casts.hpp"

#include <algorithm>
#include <cstring>

namespace ckpt {

namespace {

bool is_same_number(const DType& a, const DType& b) {
  return a.kind == b.kind && a.size == b.size && a.order == b.order;
}

}  // namespace

ChunkCasts::ChunkCasts(const Planner& planner)
    : planner_(planner), target_(planner.target()), casts_(target_.tensors().size()) {
  for (const ArrayPlace& array : target_.arrays()) {
    std::uint64_t cell = array.dtype.size;
    bool is_cast = false;
    bool is_mixed = false;
    bool adds = false;
    const DType& first = planner.source().tensors()[planner.source_of(array.members.front())].dtype;
    for (const ParameterId parameter : array.members) {
      const DType& read = planner.source().tensors()[planner.source_of(parameter)].dtype;
      is_mixed = is_mixed || !is_same_number(read, first);
      // A table's datasets are never cast, and the starts of shards are never read; a text is a text in every format.
      const Scaling* const scaling = planner.scaling(parameter);
      is_mixed = is_mixed || (scaling != nullptr && array.members.size() > 1);
      if (array.verbatim || (is_same_number(read, array.dtype) && scaling == nullptr) ||
          target_.layout().table_arrays.contains(array.name))
        continue;
      adds = adds || (scaling != nullptr && scaling->plus != 0);
      const NumberFormat from = number_format(read).value();
      const NumberFormat to = number_format(array.dtype).value();
      scaling != nullptr ? casts_[parameter].emplace(from, to, *scaling) : casts_[parameter].emplace(from, to);
      is_cast = true;
      cell = std::max(cell, read.size);
    }
    is_cast_.push_back(is_cast);
    adds_.push_back(adds);
    is_mixed_.push_back(is_mixed);
    cells_.push_back(cell);
  }
}

ChunkCasts::Part ChunkCasts::part_of(const Chunk& chunk, ParameterId parameter) const {
  const std::uint64_t cell = cells_[chunk.array];
  Part part{chunk.elements, planner_.source().tensors()[planner_.source_of(parameter)].dtype.size, 0, parameter};
  if (is_mixed_[chunk.array]) part.elements = intersect(target_.run_of(parameter, chunk.card), chunk.elements);
  part.offset = (part.elements.lo - chunk.elements.lo) * cell + part.elements.size() * (cell - part.element);
  return part;
}

void ChunkCasts::place(const Chunk& chunk, ParameterId parameter, Transfer& transfer) const {
  const Part part = part_of(chunk, parameter);
  transfer.target_offset = transfer.target_offset - (part.elements.lo - chunk.elements.lo) * part.element + part.offset;
}

/// Returns all parts of a chunk, in the order of its elements; the gaps between them are padding.
std::vector<ChunkCasts::Part> ChunkCasts::parts(const Chunk& chunk) const {
  if (!is_mixed_[chunk.array]) return {part_of(chunk, target_.arrays()[chunk.array].members.front())};
  std::vector<Part> found;
  target_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region&) {
    if (found.empty() || found.back().parameter != parameter) found.push_back(part_of(chunk, parameter));
  });
  std::sort(found.begin(), found.end(), [](const Part& a, const Part& b) { return a.elements.lo < b.elements.lo; });
  return found;
}

ChunkCasts::Overflows ChunkCasts::run(const Chunk& chunk, const std::byte* memory, std::byte* target) const {
  const std::uint64_t element = target_.arrays()[chunk.array].dtype.size;
  std::vector<bool> is_infinite;
  std::uint64_t end = 0;
  for (const Part& part : parts(chunk)) {
    const std::uint64_t first = part.elements.lo - chunk.elements.lo;
    std::byte* const place = target + first * element;
    std::memset(target + end, 0, first * element - end);
    end = (first + part.elements.size()) * element;
    if (!casts_[part.parameter]) {
      std::memmove(place, memory + part.offset, part.elements.size() * element);
      continue;
    }
    casts_[part.parameter]->run(memory + part.offset, place, part.elements.size(), [&](std::uint64_t i) {
      is_infinite.resize(chunk.elements.size(), false);
      is_infinite[first + i] = true;
    });
  }
  std::memset(target + end, 0, chunk.elements.size() * element - end);
  if (adds_[chunk.array]) clear_padding(chunk, target);
  return is_infinite.empty() ? Overflows{} : count(chunk, is_infinite);
}

namespace {

/// Calls visit(first, count) for each run of a region's elements, by their numbers in a chunk.
template <class Visit>
void for_each_run(const Region& region, const Chunk& chunk, const Visit& visit) {
  const Shape shape = region.box.shape();
  const StridedCopy walk = strided_copy(shape, region.strides, row_major_strides(shape), 1);
  for_each_step({walk.loops.data(), walk.depth},
                [&](const CopyStep& step) { visit(region.offset - chunk.elements.lo + step.source, walk.run); });
}

}  // namespace

void ChunkCasts::clear_padding(const Chunk& chunk, std::byte* target) const {
  const std::uint64_t element = target_.arrays()[chunk.array].dtype.size;
  std::vector<bool> is_padding(chunk.elements.size(), true);
  target_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId, const Region& region) {
    for_each_run(region, chunk, [&](std::uint64_t first, std::uint64_t count) {
      std::fill_n(is_padding.begin() + static_cast<std::ptrdiff_t>(first), count, false);
    });
  });
  for (std::uint64_t i = 0; i < is_padding.size(); ++i)
    if (is_padding[i]) std::memset(target + i * element, 0, element);
}

ChunkCasts::Overflows ChunkCasts::count(const Chunk& chunk, const std::vector<bool>& is_infinite) const {
  Overflows overflows;
  target_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region& region) {
    if (region.fill || !target_.is_of_first_copy(parameter, chunk.card)) return;
    std::uint64_t found = 0;
    for_each_run(region, chunk, [&](std::uint64_t first, std::uint64_t count) {
      const auto run = is_infinite.begin() + static_cast<std::ptrdiff_t>(first);
      found += static_cast<std::uint64_t>(std::count(run, run + static_cast<std::ptrdiff_t>(count), true));
    });
    if (found != 0) overflows.emplace_back(parameter, found);
  });
  return overflows;
}

}  // namespace ckpt
