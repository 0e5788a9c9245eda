#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
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
#include "base/workers.hpp"
#include "store/posix_file.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// How it went to read a part of a file past the system's memory.
enum class PastMemory : std::uint8_t {
  read,
  left,    ///< it is in the system's memory, or cannot be read: the usual reading is faster, or says why
  refused  ///< all of the file is to be read as usual: its file system knows no other way
};

/// A file to be read past the system's memory.
class DirectFile {
 public:
  /// The file that is open as `fd`, which must outlive this. `path` is for messages.
  DirectFile(int fd, const std::string& path) : fd_(fd), file_(PosixFile::open_directly(fd, path)) {}

  /// Fills `out`, unless the system has these bytes in memory. `offset` is a multiple of 4 KiB; `out` begins at a page
  /// of memory, and has room up to the end of its last one.
  PastMemory read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  int fd_;
  std::optional<PosixFile> file_;  // nothing where that is refused
};

/// Parts of source files that are not in the system's memory, read past it by threads of its own before they are
/// needed. In blocks so long that a disk gives what it can: the system's own reading ahead asks for less at a time, and
/// finds a page of memory for each 4 KiB. Files go by the numbers that the caller has for them. Threads may share one.
class DirectBlocks {
 public:
  /// Reads a block of a file, which begins at `start`, as DirectFile does. Called by several threads.
  using Read = std::function<PastMemory(std::uint64_t file, std::uint64_t start, std::span<std::byte> out)>;

  /// Some bytes of a file, in memory for as long as this lives.
  struct Held {
    std::shared_ptr<const void> block;
    const std::byte* address = nullptr;  ///< null: they are in no block
    std::uint64_t bytes = 0;             ///< from there to the end of the block, also of one that is not there
  };

  /// With less memory than this, it is not worth its threads.
  static constexpr std::uint64_t least_memory = 16ULL << 20;

  /// `files`: how many are read together. It takes what these gain by, and more only where more is held at a time; io
  /// where there is no memory, or no thread, for it.
  DirectBlocks(std::uint64_t memory_bytes, std::uint64_t files, Read read);
  ~DirectBlocks();
  DirectBlocks(const DirectBlocks&) = delete;
  DirectBlocks& operator=(const DirectBlocks&) = delete;
  DirectBlocks(DirectBlocks&&) = delete;
  DirectBlocks& operator=(DirectBlocks&&) = delete;

  /// Begins to read the blocks that hold these bytes of a file of so many, and adds them to what is held, but for those
  /// that were found to be left to the usual reading, or for which there is no room now.
  void want(std::uint64_t file, std::uint64_t file_bytes, Interval bytes, Lease& lease);
  /// Whether there is room for more than what is held.
  bool has_room() const;
  /// Whether as much is held as its files gain by: what can wait is better asked for later.
  bool is_far_ahead() const;
  /// Whether nothing could be read in this way so far, as the file systems of all that was tried refuse it.
  bool is_refused() const;

  /// What a block has from byte `offset` of a file on, when it has been read.
  Held find(std::uint64_t file, std::uint64_t offset);

  /// Counts bytes that have been copied from blocks. Where they stay far behind what has been read, no more is, for a
  /// while.
  void count_used(std::uint64_t bytes) noexcept { used_.fetch_add(bytes, std::memory_order_relaxed); }

  std::uint64_t block_bytes() const noexcept { return block_bytes_; }
  std::uint64_t memory_bytes() const noexcept { return memory_.size(); }

 private:
  enum class State : std::uint8_t { reading, ready, left };
  struct Block;
  using Blocks = std::list<std::shared_ptr<Block>>;

  /// What is known of a file.
  struct File {
    std::unordered_map<std::uint64_t, Blocks::iterator> blocks;  // by their number in the file
    std::unordered_set<std::uint64_t> left;                      // blocks that are read in the usual way
    bool is_refused = false;                                     // as is all of it
  };

  static bool is_held(const std::shared_ptr<Block>& block) noexcept;
  std::shared_ptr<Block> begin(std::uint64_t number, File& file, std::uint64_t index, std::uint64_t bytes);
  /// Memory for a block: that of one which nobody holds, or unused. Null where there is none.
  std::byte* room();
  bool is_wasted(std::uint64_t bytes);
  void fetch(Block& block);
  void leave(Block& block, bool is_refused);
  void forget(Blocks::iterator block);

  Read read_;
  std::uint64_t usual_blocks_;
  std::uint64_t block_bytes_;
  Buffer memory_;
  mutable std::mutex mutex_;
  std::condition_variable has_read_;
  std::vector<std::byte*> free_;
  std::uint64_t fetched_ = 0;  // bytes, as far as they tell of waste
  std::uint64_t passed_ = 0;   // bytes that were not read because of it
  std::atomic<std::uint64_t> used_{0};
  bool is_ever_read_ = false;
  bool is_ever_refused_ = false;
  Blocks order_;  // least recently wanted first
  std::unordered_map<std::uint64_t, File> files_;
  Workers workers_;
  TaskGroup reading_;  // last: the threads end before what they use
};

}  // namespace ckpt
