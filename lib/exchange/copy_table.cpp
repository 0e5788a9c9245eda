#include "exchange/copy_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t widest = 16;
constexpr std::uint64_t most_bytes = 1ULL << 30;  // of one copy: a thread counts words in 32 bits

/// Returns the largest power of two, up to the widest word, that divides both ends and all strides.
std::uint64_t alignment(const StridedCopy& copy, std::uint64_t source, std::uint64_t target) {
  std::uint64_t bits = widest | source | target;
  for (std::size_t i = 0; i < copy.depth; ++i) bits |= copy.loops[i].source_stride | copy.loops[i].target_stride;
  return bits & -bits;
}

StridedCopy without_loop(StridedCopy copy, std::size_t loop) {
  const auto at = copy.loops.begin() + static_cast<std::ptrdiff_t>(loop);
  std::copy(at + 1, copy.loops.begin() + static_cast<std::ptrdiff_t>(copy.depth), at);
  --copy.depth;
  return copy;
}

}  // namespace

void CopyTable::add(const StridedCopy& copy, std::uint64_t source, std::uint64_t target) {
  if (copy.run == 0) return;
  const auto begin = copy.loops.begin();
  const auto [shortest, longest] = std::minmax_element(begin, begin + static_cast<std::ptrdiff_t>(copy.depth),
                                                       [](const auto& a, const auto& b) { return a.count < b.count; });
  if (copy.depth > DeviceCopy::max_depth) {
    const StridedCopy step = without_loop(copy, static_cast<std::size_t>(shortest - begin));
    for (std::uint64_t i = 0; i < shortest->count; ++i)
      add(step, source + i * shortest->source_stride, target + i * shortest->target_stride);
  } else if (copy.bytes() > most_bytes && copy.depth > 0 && longest->count > 1) {
    const std::uint64_t half = longest->count / 2;
    StridedCopy part = copy;
    auto& loop = part.loops[static_cast<std::size_t>(longest - begin)];
    loop.count = half;
    add(part, source, target);
    loop.count = longest->count - half;
    add(part, source + half * loop.source_stride, target + half * loop.target_stride);
  } else {
    // Uses words as wide as the ends and strides allow; narrower ones copy the rest at each run's end.
    const std::uint64_t width = std::min(alignment(copy, source, target), std::bit_floor(copy.run));
    const std::uint64_t body = std::min(copy.run - copy.run % width, most_bytes);
    StridedCopy part = copy;
    part.run = body;
    add_words(part, source, target, width);
    part.run = copy.run - body;
    add(part, source + body, target + body);
  }
}

void CopyTable::add_words(const StridedCopy& copy, std::uint64_t source, std::uint64_t target, std::uint64_t width) {
  const auto narrow = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };  // below most_bytes
  DeviceCopy& made = copies_.emplace_back();
  made.first = words_;
  made.source = source;
  made.target = target;
  made.words = narrow(copy.bytes() / width);
  made.run = narrow(copy.run / width);
  made.width = narrow(width);
  made.depth = narrow(copy.depth);
  for (std::size_t i = 0; i < copy.depth; ++i) {
    const StridedCopy::Loop& loop = copy.loops[copy.depth - 1 - i];
    made.loops[i] = {loop.source_stride, loop.target_stride, narrow(loop.count)};
  }
  words_ += made.words;
}

void CopyTable::append(const CopyTable& other) {
  for (DeviceCopy copy : other.copies_) {
    copy.first += words_;
    copies_.push_back(copy);
  }
  words_ += other.words_;
}

std::uint64_t CopyTable::tiles() const noexcept {
  return ceil_div(words_, tile_words);
}

std::uint64_t CopyTable::bytes() const noexcept {
  return copies_.size() * sizeof(DeviceCopy) + (tiles() + 1) * sizeof(std::uint32_t);
}

CopyTableView CopyTable::store(std::byte* at, const std::byte* seen_at) const {
  const std::uint64_t copies_bytes = copies_.size() * sizeof(DeviceCopy);
  if (copies_bytes != 0) std::memcpy(at, copies_.data(), copies_bytes);
  auto* tile_copy = reinterpret_cast<std::uint32_t*>(at + copies_bytes);
  std::uint32_t copy = 0;
  for (std::uint64_t tile = 0; tile <= tiles(); ++tile) {
    while (copy + 1 < copies_.size() && copies_[copy + 1].first <= tile * tile_words) ++copy;
    tile_copy[tile] = copy;
  }
  return {reinterpret_cast<const DeviceCopy*>(seen_at), reinterpret_cast<const std::uint32_t*>(seen_at + copies_bytes),
          words_, tiles()};
}

}  // namespace ckpt
