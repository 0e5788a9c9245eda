#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/buffer.hpp"
#include "base/lease.hpp"
#include "base/lru.hpp"
#include "base/workers.hpp"
#include "io/posix_file.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// The outcome of a direct read (O_DIRECT) of a part of a file.
enum class DirectReadStatus : std::uint8_t {
  read,
  left,    ///< the page cache holds it, or it cannot be read: a buffered read is faster, or reports why
  refused  ///< the file system has no direct I/O: read the whole file through the page cache
};

/// A file to be read with direct I/O.
class DirectFile {
 public:
  /// Takes the file that is open as `fd`, which must outlive this object. `path` is for messages.
  DirectFile(int fd, const std::string& path) : fd_(fd), file_(PosixFile::open_directly(fd, path)) {}

  /// Fills `out`, unless the page cache holds these bytes. `offset` is a multiple of 4 KiB; `out` begins at a page of
  /// memory, and has room up to the end of its last one.
  DirectReadStatus read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  int fd_;
  std::optional<PosixFile> file_;  // nothing if the file system refused
};

/// Prefetches parts of source files that the page cache does not hold, with direct I/O in threads of its own. Blocks
/// are long enough for a disk's full bandwidth: the kernel's own read-ahead asks for less at a time, and has to find a
/// page of memory for each 4 KiB. The caller numbers the files. Threads may share an object.
class DirectBlocks {
 public:
  /// Reads the block of a file that begins at `start`, as DirectFile does. Several threads call it.
  using Read = std::function<DirectReadStatus(std::uint64_t file, std::uint64_t start, std::span<std::byte> out)>;

  /// Bytes of a file that stay in memory while this lives.
  struct PinnedBytes {
    std::shared_ptr<const void> block;
    const std::byte* address = nullptr;  ///< null: no block holds them
    std::uint64_t bytes = 0;             ///< from there to the end of the block, even if that block is absent
  };

  /// The size of a block, if there is memory for as many as speed up reading.
  static constexpr std::uint64_t usual_block = 1536ULL << 10;
  /// With less memory than this, prefetching is not worth its threads.
  static constexpr std::uint64_t least_memory = 16ULL << 20;

  /// `files`: the number of files read at the same time. Uses as many blocks as speed these up, and more only if
  /// callers hold more at once. Throws io if the system refuses the memory or a thread.
  DirectBlocks(std::uint64_t memory_bytes, std::uint64_t files, Read read);
  ~DirectBlocks();
  DirectBlocks(const DirectBlocks&) = delete;
  DirectBlocks& operator=(const DirectBlocks&) = delete;
  DirectBlocks(DirectBlocks&&) = delete;
  DirectBlocks& operator=(DirectBlocks&&) = delete;

  /// Starts reading the blocks that hold these bytes of a file of `file_bytes`, and adds them to the lease. Skips
  /// blocks that were left to buffered reads, and those for which there is no room now.
  void want(std::uint64_t file, std::uint64_t file_bytes, Interval bytes, Lease& lease);
  /// Returns whether there is room beyond the blocks that are held.
  bool has_room() const;
  /// Returns whether the blocks that are held suffice to speed up the files: a request that can wait should come later.
  bool is_far_ahead() const;
  /// Returns whether the file systems of all files tried so far have refused direct I/O.
  bool is_refused() const;

  /// Returns what a block holds of the file from byte `offset` on, once it has been read.
  PinnedBytes find(std::uint64_t file, std::uint64_t offset);

  /// Counts bytes that were copied from blocks. If they stay far behind the bytes read, prefetching stops for a while.
  void count_used(std::uint64_t bytes) noexcept { used_.fetch_add(bytes, std::memory_order_relaxed); }

  std::uint64_t block_bytes() const noexcept { return block_bytes_; }
  std::uint64_t memory_bytes() const noexcept { return memory_.size(); }

 private:
  enum class State : std::uint8_t { reading, ready, left };
  struct Block;
  struct Key {
    std::uint64_t file = 0;
    std::uint64_t index = 0;  // of the block in the file
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct File {
    std::unordered_set<std::uint64_t> left;  // the indices of blocks that are left to buffered reads
    bool is_refused = false;                 // the whole file is left to them
  };

  static bool is_held(const std::shared_ptr<Block>& block) noexcept;
  std::shared_ptr<Block> begin(const Key& key, std::uint64_t bytes);
  /// Returns memory for a block: unused, or taken from a block that nobody holds. Null if there is none.
  std::byte* room();
  bool is_wasted(std::uint64_t bytes);
  void fetch(Block& block);
  void leave(Block& block, bool is_refused);

  Read read_;
  std::uint64_t usual_blocks_;
  std::uint64_t block_bytes_;
  Buffer memory_;
  mutable std::mutex mutex_;
  std::condition_variable has_read_;
  std::vector<std::byte*> free_;
  std::uint64_t fetched_ = 0;  // bytes that count towards the test for waste
  std::uint64_t passed_ = 0;   // bytes that were not read because of that test
  std::atomic<std::uint64_t> used_{0};
  bool is_ever_read_ = false;
  bool is_ever_refused_ = false;
  Lru<Key, std::shared_ptr<Block>> blocks_;  // used: wanted
  std::unordered_map<std::uint64_t, File> files_;
  Workers workers_;
  TaskGroup reading_;  // last: the threads end before what they use
};

}  // namespace ckpt
