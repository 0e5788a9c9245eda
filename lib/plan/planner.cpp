#include "plan/planner.hpp"

namespace ckpt {

bool Planner::fills(const Chunk& chunk) const {
  std::uint64_t filled = 0;
  target_.for_each_region(chunk.array, chunk.card, chunk.elements,
                          [&](ParameterId, const Region& wanted) { filled += numel(wanted.box.shape()); });
  return filled == chunk.elements.size();
}

std::uint64_t Planner::for_each_transfer(const Chunk& chunk, std::uint32_t writer, const Visit& visit) const {
  std::uint64_t filled = 0;
  target_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region& wanted) {
    const ParameterId from = source_of_[parameter];
    const std::uint64_t element = source_.tensors()[from].dtype.size;
    const std::uint64_t elements = numel(wanted.box.shape());
    std::uint64_t found = 0;
    source_.for_each_shard(from, wanted.box, [&](Position first, const Region& held) {
      const Region into = restricted(wanted, held.box);
      found += numel(held.box.shape());
      visit({readers_.choose(from, first, writer), source_.array_of(from), from, element, held,
             (into.offset - chunk.elements.lo) * element, into.strides, parameter});
    });
    if (found != elements)
      throw Error(Kind::layout, "parameter '" + target_.tensors()[parameter].name + "'",
                  {"the source holds " + std::to_string(found) + " of the " + std::to_string(elements) +
                       " elements of " + to_string(wanted.box),
                   "all, once", "this is a defect of the program"});
    filled += elements * element;
  });
  return filled;
}

}  // namespace ckpt
