#include "plan/block_readers.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace ckpt {

namespace {

// A sample takes some ten milliseconds: of a few arrays, not all of a large one.
constexpr std::uint64_t most_arrays = 16;
constexpr std::uint64_t least_arrays = 4;
constexpr std::uint64_t most_parts = 4096;  // of a card and an array
constexpr std::uint64_t most_bytes = 4ULL << 20;
constexpr std::size_t most_transfers = 1U << 17U;

/// Neighbouring blocks of a card's array.
struct Blocks {
  Position card = 0;
  ArrayId array = 0;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

/// The blocks that hold a transfer's elements, and what lies between these.
Blocks blocks_of(const Transfer& transfer, std::uint64_t block_bytes) {
  const Shape extents = transfer.source.box.shape();
  std::uint64_t last = transfer.source.offset;
  for (std::size_t d = 0; d < extents.size(); ++d) last += (extents[d] - 1) * transfer.source.strides[d];
  return {transfer.card, transfer.array, transfer.source.offset * transfer.element / block_bytes,
          ((last + 1) * transfer.element - 1) / block_bytes + 1};
}

/// How many blocks these are, each counted once.
std::uint64_t count_of(std::vector<Blocks>& blocks) {
  std::sort(blocks.begin(), blocks.end(), [](const Blocks& a, const Blocks& b) {
    return std::tie(a.card, a.array, a.first) < std::tie(b.card, b.array, b.first);
  });
  std::uint64_t count = 0;
  Blocks known;
  for (const Blocks& each : blocks) {
    if (each.card != known.card || each.array != known.array) known = {each.card, each.array, 0, 0};
    if (each.end <= known.end) continue;
    count += each.end - std::max(each.first, known.end);
    known.end = each.end;
  }
  return count;
}

/// The arrays of a sample, in no order that a model's layers could have, too.
std::vector<ArrayId> sample(std::uint64_t arrays, std::uint64_t cards) {
  constexpr std::uint64_t prime = 7919;
  const std::uint64_t wanted = std::clamp(most_parts / std::max<std::uint64_t>(cards, 1), least_arrays, most_arrays);
  std::vector<ArrayId> chosen;
  for (std::uint64_t n = 0; n < std::min(wanted, arrays); ++n)
    chosen.push_back(static_cast<ArrayId>(arrays <= wanted ? n : n * prime % arrays));
  return chosen;
}

}  // namespace

double readers_of_block(const Planner& planner, const WriteShares& shares, std::span<const std::uint32_t> processes,
                        std::uint64_t block_bytes) {
  const Placement& target = planner.target();
  std::uint64_t cards = 0;
  for (const std::uint32_t process : processes) cards += shares.written_by(process).size();
  const std::vector<ArrayId> arrays = sample(target.arrays().size(), cards);
  std::vector<Blocks> all;
  std::uint64_t read = 0;
  for (const std::uint32_t process : processes) {
    std::vector<Blocks> own;
    for (const Position card : shares.written_by(process))
      for (const ArrayId array : arrays) {
        if (!target.holds(card, array)) continue;
        if (all.size() + own.size() > most_transfers) return double(processes.size());
        const std::uint64_t element = std::max<std::uint64_t>(target.arrays()[array].dtype.size, 1);
        Interval part = shares.of(process, card, array);
        part.hi = std::min(part.hi, part.lo + most_bytes / element);
        if (part.empty()) continue;
        planner.for_each_transfer({card, array, part, part.size() * element}, process, [&](const Transfer& transfer) {
          if (transfer.bytes() != 0) own.push_back(blocks_of(transfer, block_bytes));
        });
      }
    read += count_of(own);
    all.insert(all.end(), own.begin(), own.end());
  }
  const std::uint64_t distinct = count_of(all);
  return distinct == 0 ? 1 : double(read) / double(distinct);
}

}  // namespace ckpt
