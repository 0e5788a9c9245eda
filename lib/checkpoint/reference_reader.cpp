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
  readers_[part]->read_box(parameter, box, out, scratch_.first(scratch_.size()));
}

}  // namespace ckpt
