#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/buffer.hpp"
#include "base/workers.hpp"
#include "store/file_piece.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Parts of source files that are not in the system's memory, read past it by threads of its own before they are
/// needed. In blocks so long that a disk gives what it can: the system's own reading ahead asks for less at a time, and
/// finds a page of memory for each 4 KiB. Threads may share one.
class DirectBlocks {
 public:
  /// Blocks stay in memory as long as somebody holds them.
  using Lease = std::vector<std::shared_ptr<const void>>;

  /// Some bytes of a file, in memory for as long as this lives.
  struct Held {
    std::shared_ptr<const void> block;
    const std::byte* address = nullptr;
    std::uint64_t bytes = 0;  ///< from there to the end of the block
  };

  /// With less memory than this, it is not worth its threads.
  static constexpr std::uint64_t least_memory = 16ULL << 20;

  /// `files`: how many are read together.
  DirectBlocks(std::uint64_t memory_bytes, std::uint64_t files);
  ~DirectBlocks();
  DirectBlocks(const DirectBlocks&) = delete;
  DirectBlocks& operator=(const DirectBlocks&) = delete;
  DirectBlocks(DirectBlocks&&) = delete;
  DirectBlocks& operator=(DirectBlocks&&) = delete;

  /// Begins to read the blocks that hold these bytes of a file, and adds them to what is held, but for those that the
  /// system has in memory, cannot read in this way, or for which there is no room now.
  void want(const LocatedFile& file, Interval bytes, Lease& lease);
  /// Whether there is room for more than what is held.
  bool has_room() const;

  /// What a block has from byte `offset` of a file on, when it has been read; no address where it is in none.
  Held find(const LocatedFile& file, std::uint64_t offset);

  /// Counts bytes that have been copied from blocks. Where they stay far behind what has been read, no more is.
  void count_used(std::uint64_t bytes) noexcept { used_.fetch_add(bytes, std::memory_order_relaxed); }

  std::uint64_t block_bytes() const noexcept { return block_bytes_; }
  std::uint64_t memory_bytes() const noexcept { return memory_.size(); }

 private:
  enum class State : std::uint8_t { reading, ready, failed };
  struct Block;
  using Blocks = std::list<std::shared_ptr<Block>>;

  std::shared_ptr<Block> begin(const LocatedFile& file, const FilePiece& key);
  /// Memory for a block: unused, or that of one which nobody holds. Null where there is none.
  std::byte* room();
  bool is_wasted() const;
  void fetch(Block& block);
  FilePiece key_of(const LocatedFile& file, std::uint64_t index) const { return {file.device, file.inode, index}; }

  std::uint64_t block_bytes_;
  Buffer memory_;
  mutable std::mutex mutex_;
  std::condition_variable read_;
  std::vector<std::byte*> free_;
  std::uint64_t fetched_ = 0;
  std::atomic<std::uint64_t> used_{0};
  Blocks order_;  // least recently wanted first
  std::unordered_map<FilePiece, Blocks::iterator, FilePiece::Hash> where_;
  Workers workers_;
  TaskGroup reading_;  // last: the threads end before what they use
};

}  // namespace ckpt
