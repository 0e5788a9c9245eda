#include "plan/planner.hpp"

namespace ckpt {

void Planner::for_each_source(ParameterId target_parameter, const std::function<void(ParameterId)>& visit) const {
  if (const TensorLinks* const of = links(target_parameter)) return of->for_each_source(visit);
  visit(source_of_[target_parameter]);
}

bool Planner::fills(const Chunk& chunk) const {
  std::uint64_t filled = 0;
  target_.for_each_region(chunk.array, chunk.card, chunk.elements,
                          [&](ParameterId, const Region& wanted) { filled += numel(wanted.box.shape()); });
  return filled == chunk.elements.size() && unlinked_bytes(chunk) == 0;
}

std::uint64_t Planner::unlinked_bytes(const Chunk& chunk) const {
  std::uint64_t bytes = 0;
  if (links_.empty()) return bytes;
  target_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region& wanted) {
    if (const TensorLinks* const of = links(parameter))
      bytes += (numel(wanted.box.shape()) - linked_elements(*of, wanted.box)) *
               source_.tensors()[source_of_[parameter]].dtype.size;
  });
  return bytes;
}

std::uint64_t Planner::linked_elements(const TensorLinks& links, const Box& box) const {
  std::uint64_t elements = 0;
  links.for_each(box, [&](ParameterId, const Link& link) {
    if (Box part = whole(link.size); narrow(part, link.target, box)) elements += numel(part.shape());
  });
  return elements;
}

std::uint64_t Planner::for_each_transfer(const Chunk& chunk, std::uint32_t writer, const Visit& visit) const {
  std::uint64_t filled = 0;
  target_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region& wanted) {
    filled += for_each_transfer(parameter, wanted, chunk.elements.lo, writer, visit);
  });
  return filled;
}

std::uint64_t Planner::for_each_transfer(ParameterId parameter, const Region& wanted, std::uint64_t begin,
                                         std::uint32_t writer, const Visit& visit) const {
  const ParameterId from = source_of_[parameter];
  const std::uint64_t element = source_.tensors()[from].dtype.size;
  if (links(parameter) != nullptr) return for_each_linked(parameter, wanted, begin, writer, visit) * element;
  const std::uint64_t elements = numel(wanted.box.shape());
  std::uint64_t found = 0;
  source_.for_each_shard(from, wanted.box, [&](Position first, const Region& held) {
    const Region into = restricted(wanted, held.box);
    found += numel(held.box.shape());
    visit({readers_.choose(from, first, writer), source_.array_of(from), from, element, held,
           (into.offset - begin) * element, into.strides, parameter});
  });
  if (found != elements) fail_absent(parameter, wanted.box, found, elements);
  return elements * element;
}

/// The transfers of a region of a linked parameter. Returns the number of elements that have a source.
std::uint64_t Planner::for_each_linked(ParameterId parameter, const Region& wanted, std::uint64_t begin,
                                       std::uint32_t writer, const Visit& visit) const {
  const Shape tensor_strides = row_major_strides(target_.tensors()[parameter].shape);
  std::uint64_t all = 0;
  links(parameter)->for_each(wanted.box, [&](ParameterId from, const Link& link) {
    Box part = whole(link.size);
    if (!narrow(part, link.target, wanted.box)) return;
    TensorPlace place{true, 0, Shape(part.rank())};
    for (std::size_t d = 0; d < tensor_strides.size(); ++d) place.first += link.target.base[d] * tensor_strides[d];
    for (std::size_t k = 0; k < part.rank(); ++k)
      place.strides[k] = link.target.steps[k] * tensor_strides[link.target.dims[k]];
    const std::uint64_t element = source_.tensors()[from].dtype.size;
    std::uint64_t found = 0;
    source_.for_each_shard(from, hull(link.source, part), [&](Position first, const Region& held) {
      Box here = part;
      if (!narrow(here, link.source, held.box)) return;  // between the link's steps
      const Region into = restricted(wanted, link.target, here);
      found += numel(here.shape());
      visit({readers_.choose(from, first, writer), source_.array_of(from), from, element,
             restricted(held, link.source, here), (into.offset - begin) * element, into.strides, parameter, place});
    });
    if (found != numel(part.shape())) fail_absent(parameter, wanted.box, found, numel(part.shape()));
    all += found;
  });
  return all;
}

void Planner::fail_absent(ParameterId parameter, const Box& box, std::uint64_t found, std::uint64_t elements) const {
  throw Error(Kind::layout, "parameter '" + target_.tensors()[parameter].name + "'",
              {"the source holds " + std::to_string(found) + " of the " + std::to_string(elements) + " elements of " +
                   to_string(box),
               "all, once", "this is a defect of the program"});
}

}  // namespace ckpt
