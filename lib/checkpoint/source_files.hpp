#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/file_cache.hpp"
#include "io/direct_blocks.hpp"
#include "plan/readers.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The existing files that a process reads: its own where readers send to writers, all where each process reads what it
/// needs.
std::vector<FileNumber> files_read_by(std::uint32_t process, const Checkpoint& checkpoint, const Readers& readers);

/// Opens a checkpoint's files as they are needed, and holds what is read ahead with direct I/O. Threads may share one.
class SourceFiles {
 public:
  /// `most_open`: how many of them may be open (`files_in_cache`).
  SourceFiles(const Checkpoint& checkpoint, SourceStore& store, std::size_t most_open);

  std::shared_ptr<SourceFile> get(FileNumber file) { return files_.get(file); }

  /// How many of `memory_bytes` `read_with_direct_io` would take: 0 where a sample of `files` is in the page cache, or
  /// where memory, address space or open files are too few.
  std::uint64_t direct_blocks(std::uint64_t memory_bytes, const std::vector<FileNumber>& files);
  /// From here on until `read_buffered`, reads ahead with direct I/O, into up to `memory_bytes` of our own memory.
  /// `files`: the files that this process reads, in total. Returns how many bytes are taken: 0 where the system lacks
  /// memory or threads for it.
  std::uint64_t read_with_direct_io(std::uint64_t memory_bytes, const std::vector<FileNumber>& files);
  void read_buffered() { blocks_.reset(); }

  /// Whether `read_ahead` is of any use.
  bool reads_ahead() const { return blocks_ && !blocks_->is_refused(); }
  /// Whether there is room now for more than is held.
  bool can_read_ahead() const { return reads_ahead() && blocks_->has_room(); }
  /// As DirectBlocks::is_far_ahead.
  bool is_far_ahead() const { return blocks_ != nullptr && blocks_->is_far_ahead(); }
  /// As `SourceFile::read`, but uses what was read ahead.
  void read(FileNumber file, std::size_t dataset, std::uint64_t offset, std::span<std::byte> out);
  /// Begins to read bytes of a dataset, counted as by `SourceFile::read_as_stored`, as far as there is room: they stay
  /// in memory as long as the lease is held.
  void read_ahead(FileNumber file, std::size_t dataset, Interval stored, Lease& lease);
  /// The blocks that were read ahead; null if nothing reads ahead.
  DirectBlocks* blocks() const noexcept { return blocks_.get(); }

 private:
  bool is_cold(const std::vector<FileNumber>& files);

  /// A file opened a second time for direct I/O.
  struct OpenDirectly {
    std::shared_ptr<SourceFile> file;
    DirectFile direct;
  };
  std::shared_ptr<OpenDirectly> open_directly(FileNumber file);

  const Checkpoint& checkpoint_;
  std::size_t most_open_;
  FileCache<SourceFile> files_;
  FileCache<OpenDirectly> direct_files_;
  std::unique_ptr<DirectBlocks> blocks_;  // last: its threads open files
};

}  // namespace ckpt
