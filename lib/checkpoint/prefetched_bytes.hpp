#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/direct_blocks.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Where to find the parts of a file that were read ahead.
struct ReadAhead {
  DirectBlocks* blocks = nullptr;  ///< null: nothing is read ahead
  std::uint64_t file = 0;          ///< the file's number in `blocks`
};

/// The bytes that were read ahead of a dataset from `offset` on, counted as by SourceFile::read_as_stored: up to the
/// end of their block or of their extent in the file. The address is null if nothing was.
DirectBlocks::PinnedBytes prefetched_at(const SourceFile& file, std::size_t dataset, std::uint64_t offset,
                                        const ReadAhead& ahead);

/// As SourceFile::read_as_stored, but takes from `ahead` what was read ahead.
void read_as_stored(SourceFile& file, std::size_t dataset, std::uint64_t offset, std::span<std::byte> out,
                    const ReadAhead& ahead);

}  // namespace ckpt
