#include "checkpoint/prefetched_bytes.hpp"

#include <algorithm>
#include <cstring>

namespace ckpt {

DirectBlocks::PinnedBytes prefetched_at(const SourceFile& file, std::size_t dataset, std::uint64_t offset,
                                        const ReadAhead& ahead) {
  if (ahead.blocks == nullptr) return {};
  const auto located = file.located(dataset, offset);
  if (!located) return {};
  const FileExtent& extent = located->extent;
  const std::uint64_t skipped = offset - extent.start;
  auto held = ahead.blocks->find(ahead.file, extent.offset + skipped);
  held.bytes = std::min(held.bytes, extent.bytes - skipped);
  return held;
}

void read_as_stored(SourceFile& file, std::size_t dataset, std::uint64_t offset, std::span<std::byte> out,
                    const ReadAhead& ahead) {
  while (!out.empty()) {
    std::uint64_t bytes = out.size();
    const auto held = prefetched_at(file, dataset, offset, ahead);
    if (held.bytes != 0) bytes = std::min(bytes, held.bytes);  // the next bytes may be in another block
    if (held.address != nullptr) {
      std::memcpy(out.data(), held.address, bytes);
      ahead.blocks->count_used(bytes);
    } else {
      file.read_as_stored(dataset, offset, out.first(static_cast<std::size_t>(bytes)));
    }
    offset += bytes;
    out = out.subspan(static_cast<std::size_t>(bytes));
  }
}

}  // namespace ckpt
