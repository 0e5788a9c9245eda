#pragma once

#include <cstddef>
#include <cstdint>

// Compiled for the host and, by nvcc, for the device: so a machine without a GPU tests the arithmetic of the kernels.
#ifdef __CUDACC__
#define CKPT_HOST_DEVICE __host__ __device__
#else
#define CKPT_HOST_DEVICE
#endif

namespace ckpt {

/// A strided copy as a GPU performs it, in words of 1 to 16 bytes: both ends, all strides and the run are multiples of
/// the word.
struct DeviceCopy {
  static constexpr std::size_t max_depth = 3;
  struct Loop {
    std::uint64_t source_stride = 0;  ///< bytes
    std::uint64_t target_stride = 0;
    std::uint32_t count = 1;
  };

  std::uint64_t first = 0;   ///< words of the preceding copies in its table
  std::uint64_t source = 0;  ///< bytes from the common base of a table's copies
  std::uint64_t target = 0;
  std::uint32_t words = 0;
  std::uint32_t run = 0;    ///< words
  std::uint32_t width = 1;  ///< bytes of a word: 1, 2, 4, 8 or 16
  std::uint32_t depth = 0;
  Loop loops[max_depth];  ///< innermost first
};

/// Many copies as one piece of work, divided into tiles with equally many words, whatever the copies' sizes.
/// `tile_copy` holds, for each tile and one past the last, the copy that contains the tile's first word.
struct CopyTableView {
  const DeviceCopy* copies = nullptr;
  const std::uint32_t* tile_copy = nullptr;
  std::uint64_t words = 0;
  std::uint64_t tiles = 0;
};

inline constexpr std::uint32_t tile_threads = 256;
inline constexpr std::uint32_t tile_steps = 4;  // words of each thread, which loads all before it stores the first
inline constexpr std::uint32_t tile_words = tile_threads * tile_steps;

struct alignas(16) Word16 {
  std::uint64_t low;
  std::uint64_t high;
};

namespace device {

/// The source and the target of a word of a copy.
struct Ends {
  std::uint64_t source;
  std::uint64_t target;
};

CKPT_HOST_DEVICE inline Ends ends_of(const DeviceCopy& copy, std::uint32_t word) {
  std::uint32_t rest = word / copy.run;
  const std::uint64_t within = std::uint64_t{word - rest * copy.run} * copy.width;
  Ends ends{copy.source + within, copy.target + within};
  for (std::uint32_t i = 0; i < DeviceCopy::max_depth; ++i) {  // unrolled, so that a copy can be in registers
    if (i == copy.depth) break;
    const auto& loop = copy.loops[i];
    const std::uint32_t next = rest / loop.count;
    const std::uint64_t index = rest - next * loop.count;
    ends.source += index * loop.source_stride;
    ends.target += index * loop.target_stride;
    rest = next;
  }
  return ends;
}

/// Copies a thread's words of a tile within one copy: `word` and every tile_threads-th after it, below `end`.
template <class Word>
CKPT_HOST_DEVICE void copy_words(DeviceCopy copy, std::byte* base, std::uint32_t word, std::uint32_t end) {
  Word words[tile_steps] = {};
  std::uint64_t targets[tile_steps] = {};
  for (std::uint32_t step = 0; step < tile_steps; ++step)
    if (const std::uint32_t at = word + step * tile_threads; at < end) {
      const Ends ends = ends_of(copy, at);
      words[step] = *reinterpret_cast<const Word*>(base + ends.source);
      targets[step] = ends.target;
    }
  for (std::uint32_t step = 0; step < tile_steps; ++step)
    if (word + step * tile_threads < end) *reinterpret_cast<Word*>(base + targets[step]) = words[step];
}

/// Calls `body` with a value of the word's type.
template <class Body>
CKPT_HOST_DEVICE void with_word(std::uint32_t width, Body body) {
  switch (width) {
    case 16:
      return body(Word16{});
    case 8:
      return body(std::uint64_t{});
    case 4:
      return body(std::uint32_t{});
    case 2:
      return body(std::uint16_t{});
    default:
      return body(std::uint8_t{});
  }
}

/// Returns the copy among [low, high] that contains a word of the table.
CKPT_HOST_DEVICE inline std::uint32_t find_copy(const DeviceCopy* copies, std::uint32_t low, std::uint32_t high,
                                                std::uint64_t word) {
  while (low < high) {
    const std::uint32_t middle = low + (high - low + 1) / 2;
    if (copies[middle].first <= word)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/// Copies the thread's words of a tile.
CKPT_HOST_DEVICE inline void copy_tile(const CopyTableView& table, std::byte* base, std::uint64_t tile,
                                       std::uint32_t thread) {
  const std::uint64_t start = tile * tile_words + thread;
  const std::uint64_t tile_end = (tile + 1) * tile_words;
  const std::uint32_t low = table.tile_copy[tile];
  const std::uint32_t high = table.tile_copy[tile + 1];
  const DeviceCopy& copy = table.copies[low];
  if (low == high || copy.first + copy.words >= tile_end) {
    const auto word = static_cast<std::uint32_t>(start - copy.first);
    with_word(copy.width, [&](auto kind) { copy_words<decltype(kind)>(copy, base, word, copy.words); });
    return;
  }
  for (std::uint32_t step = 0; step < tile_steps; ++step) {
    const std::uint64_t at = start + std::uint64_t{step} * tile_threads;
    if (at >= table.words) return;
    const DeviceCopy& found = table.copies[find_copy(table.copies, low, high, at)];
    const Ends ends = ends_of(found, static_cast<std::uint32_t>(at - found.first));
    with_word(found.width, [&](auto kind) {
      using Word = decltype(kind);
      *reinterpret_cast<Word*>(base + ends.target) = *reinterpret_cast<const Word*>(base + ends.source);
    });
  }
}

}  // namespace device

}  // namespace ckpt
