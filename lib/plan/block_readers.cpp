#include "plan/block_readers.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/checked.hpp"

namespace ckpt {

namespace {

// A sample costs some ten milliseconds at most: a few arrays where there are many cards, and not all of a large array.
constexpr std::uint64_t most_arrays = 16;
constexpr std::uint64_t most_parts = 4096;  // of a card and an array
constexpr std::uint64_t most_bytes = 4ULL << 20;

using Block = std::tuple<Position, ArrayId, std::uint64_t>;

/// Adds the blocks that hold a transfer's elements, and what lies between these.
void add_blocks(const Transfer& transfer, std::uint64_t block_bytes, std::set<Block>& blocks) {
  const Shape extents = transfer.source.box.shape();
  if (numel(extents) == 0) return;
  std::uint64_t last = transfer.source.offset;
  for (std::size_t d = 0; d < extents.size(); ++d) last += (extents[d] - 1) * transfer.source.strides[d];
  const std::uint64_t end = (last * transfer.element) / block_bytes;
  for (std::uint64_t block = transfer.source.offset * transfer.element / block_bytes; block <= end; ++block)
    blocks.emplace(transfer.card, transfer.array, block);
}

}  // namespace

double readers_of_block(const Planner& planner, const WriteShares& shares, std::span<const std::uint32_t> processes,
                        std::uint64_t block_bytes) {
  const Placement& target = planner.target();
  std::uint64_t cards = 0;
  for (const std::uint32_t process : processes) cards += shares.written_by(process).size();
  const std::uint64_t arrays =
      std::clamp<std::uint64_t>(most_parts / std::max<std::uint64_t>(cards, 1), 1, most_arrays);
  const std::uint64_t step = std::max<std::uint64_t>(ceil_div(target.arrays().size(), arrays), 1);
  std::set<Block> all;
  std::uint64_t read = 0;
  for (const std::uint32_t process : processes) {
    std::set<Block> own;
    for (const Position card : shares.written_by(process))
      for (std::uint64_t n = 0; n < target.arrays().size(); n += step) {
        const auto array = static_cast<ArrayId>(n);
        if (!target.holds(card, array)) continue;
        const std::uint64_t element = std::max<std::uint64_t>(target.arrays()[array].dtype.size, 1);
        Interval part = shares.of(process, card, array);
        part.hi = std::min(part.hi, part.lo + most_bytes / element);
        if (part.empty()) continue;
        planner.for_each_transfer({card, array, part, part.size() * element}, process,
                                  [&](const Transfer& transfer) { add_blocks(transfer, block_bytes, own); });
      }
    read += own.size();
    all.merge(own);
  }
  return all.empty() ? 1 : double(read) / double(all.size());
}

}  // namespace ckpt
