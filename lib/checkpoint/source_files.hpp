#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/file_cache.hpp"
#include "plan/readers.hpp"
#include "store/direct_blocks.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The files that a process reads where readers send to writers; where each reads what it needs, all. As far as they
/// are there.
std::vector<FileNumber> files_read_by(std::uint32_t process, const Checkpoint& checkpoint, const Readers& readers);

/// A checkpoint's files, opened as they are needed, and what of them is read ahead past the system's memory. Threads
/// may share one.
class SourceFiles {
 public:
  /// `most_open`: how many of them may be open (`files_in_cache`).
  SourceFiles(const Checkpoint& checkpoint, SourceStore& store, std::size_t most_open);

  std::shared_ptr<SourceFile> get(FileNumber file) { return files_.get(file); }

  /// How many of so many bytes `read_past_memory` would take: none where the system has `files` in memory, by some of
  /// them, or where there is too little for it.
  std::uint64_t past_memory(std::uint64_t memory_bytes, const std::vector<FileNumber>& files);
  /// From here on, what is read ahead and what the system has not in memory is read past it, into so many bytes of
  /// ours, until `read_as_usual`. `files`: those that this process reads, together. How many bytes are taken: none
  /// where the system has not enough memory, or threads, for it.
  std::uint64_t read_past_memory(std::uint64_t memory_bytes, const std::vector<FileNumber>& files);
  void read_as_usual() { blocks_.reset(); }

  /// Whether `read_ahead` is of any use.
  bool reads_ahead() const { return blocks_ && !blocks_->is_refused(); }
  /// Whether it is now: it has room for more than what is held.
  bool can_read_ahead() const { return reads_ahead() && blocks_->has_room(); }
  /// As DirectBlocks has it.
  bool is_far_ahead() const { return blocks_ != nullptr && blocks_->is_far_ahead(); }
  /// What `SourceFile::read` gives; what was read ahead comes from there.
  void read(FileNumber file, std::size_t dataset, std::uint64_t offset, std::span<std::byte> out);
  /// Begins to read some bytes of a dataset, counted as by `SourceFile::read_as_stored`, as far as there is room: they
  /// stay in memory as long as the lease is held.
  void read_ahead(FileNumber file, std::size_t dataset, Interval stored, Lease& lease);
  /// Where what was read ahead is; null where nothing is read so.
  DirectBlocks* blocks() const noexcept { return blocks_.get(); }

 private:
  bool is_cold(const std::vector<FileNumber>& files);

  /// A file beside the one that is open as usual.
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
