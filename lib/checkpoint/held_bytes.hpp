#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "store/direct_blocks.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Where the parts of a file are that were read ahead.
struct ReadAhead {
  DirectBlocks* blocks = nullptr;  ///< null: nowhere
  std::uint64_t file = 0;          ///< its number there
};

/// What was read ahead of a dataset from a byte on, counted as by SourceFile::read_as_stored: up to the end of its
/// block or of its extent in the file. Without an address where it is not there.
DirectBlocks::Held held_at(const SourceFile& file, std::size_t dataset, std::uint64_t offset, const ReadAhead& ahead);

/// SourceFile::read_as_stored, but what was read ahead comes from there.
void read_as_stored(SourceFile& file, std::size_t dataset, std::uint64_t offset, std::span<std::byte> out,
                    const ReadAhead& ahead);

}  // namespace ckpt
