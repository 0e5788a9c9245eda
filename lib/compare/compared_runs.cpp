#include "compare/compared_runs.hpp"

#include <algorithm>

#include "plan/chunk.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t whole_below = 64ULL << 10;  // arrays up to this size are sampled whole
constexpr std::uint64_t sample_bytes = 4ULL << 10;
constexpr std::uint64_t sample_count = 8;

}  // namespace

std::vector<Interval> compared_runs(const Placement& placement, ParameterId parameter, Position card, bool is_full,
                                    std::uint64_t element_bytes, std::uint64_t most_bytes) {
  const Interval own = placement.run_of(parameter, card);
  const Extents stored = placement.stored_shape(placement.array_of(parameter), card);
  const bool is_array = own.lo == 0 && own.size() == volume(stored);  // else a part of a flat buffer
  const Extents shape = is_array ? stored : Extents{own.size()};
  const bool is_small = own.size() * element_bytes <= whole_below;
  const ChunkGrid grid(shape, element_bytes, is_full || is_small ? most_bytes : std::min(sample_bytes, most_bytes));
  const bool is_whole = is_full || is_small || grid.count() <= sample_count;
  std::vector<Interval> runs;
  for (std::uint64_t i = 0; i < (is_whole ? grid.count() : sample_count); ++i) {
    const Interval run = grid[is_whole ? i : i * (grid.count() - 1) / (sample_count - 1)];
    runs.push_back({own.lo + run.lo, own.lo + run.hi});
  }
  return runs;
}

}  // namespace ckpt
