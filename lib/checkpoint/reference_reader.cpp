#include "checkpoint/reference_reader.hpp"

#include <algorithm>

namespace ckpt {

namespace {

constexpr std::size_t scratch_bytes = 256UL << 10;

}  // namespace

ReferenceReader::ReferenceReader(const Reference& reference, SourceStore& store, std::uint64_t window_bytes,
                                 std::size_t most_open)
    : reference_(reference), scratch_(scratch_bytes) {
  const std::size_t parts = reference.parts().size();
  for (const Reference::Part& part : reference.parts())
    readers_.push_back(std::make_unique<SourceReader>(part.checkpoint, part.placement, store, window_bytes / parts,
                                                      std::max<std::size_t>(1, most_open / parts)));
}

void ReferenceReader::read(std::size_t tensor, const Box& box, std::span<std::byte> out) {
  const auto [part, parameter] = reference_.place(tensor);
  const Placement& placement = reference_.parts()[part].placement;
  const std::uint64_t element = placement.tensors()[parameter].dtype.size;
  const Extents strides = row_major_strides(box.shape());
  placement.for_each_shard(parameter, box, [&](Position card, const Region& region) {
    std::uint64_t offset = 0;
    for (std::size_t d = 0; d < box.rank(); ++d) offset += (region.box.lo[d] - box.lo[d]) * strides[d];
    const Transfer transfer{card, placement.array_of(parameter), parameter, element, region, 0, strides};
    readers_[part]->read(transfer, out.subspan(offset * element).data(), scratch_.first(scratch_.size()));
  });
}

}  // namespace ckpt
