#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/gather.hpp"
#include "checkpoint/source_files.hpp"
#include "checkpoint/stored_sample.hpp"
#include "io/mapped_windows.hpp"
#include "layout/placement/placement.hpp"
#include "plan/planner.hpp"
#include "plan/source_chunk.hpp"

namespace ckpt {

/// A run of bytes in a file that is held open.
struct StoredRun {
  std::shared_ptr<SourceFile> file;
  LocatedFile located;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Reads transfers from a checkpoint's files. Threads may share one.
class SourceReader {
 public:
  /// `window_bytes`: how much of the files may be mapped at a time; `most_open`: how many of them may be open
  /// (`files_in_cache`).
  SourceReader(const Checkpoint& checkpoint, const Placement& placement, SourceStore& store, std::uint64_t window_bytes,
               std::size_t most_open);

  /// Performs a transfer: its first element goes to `target`. Sums the elements if asked to. `stored`: compares the
  /// files' own checksums on the way; null: they are compared first.
  GatherResult read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch,
                    std::optional<KeySets> sums = std::nullopt, StoredSums* stored = nullptr);

  std::shared_ptr<SourceFile> file(FileNumber number) { return files_.get(number); }

  /// If few of `files` are in the page cache, reads them ahead with direct I/O until `read_buffered`, into
  /// `spare_bytes` and most of the windows' memory. `files`: those that this process reads, in total. Returns how many
  /// bytes this takes beyond the windows' memory.
  std::uint64_t read_with_direct_io(std::uint64_t spare_bytes, const std::vector<FileNumber>& files);
  /// What `read_with_direct_io` would return.
  std::uint64_t direct_blocks(std::uint64_t spare_bytes, const std::vector<FileNumber>& files);
  void read_buffered();
  /// As in SourceFiles.
  bool reads_ahead() const { return files_.reads_ahead(); }
  bool can_read_ahead() const { return files_.can_read_ahead(); }
  bool is_far_ahead() const { return files_.is_far_ahead(); }
  /// Begins to read what a transfer needs, as far as there is room: it stays in memory as long as the lease is held.
  void read_ahead(const Transfer& transfer, Lease& lease);

  /// Returns where a transfer's bytes lie in their file, if they lie there as the transfer leaves them: in one run, and
  /// as they are.
  std::optional<StoredRun> stored_run(const Transfer& transfer);

  /// Returns how many of the largest chunks that must be decoded fit into the memory for them at once; 1 if none is
  /// large.
  std::size_t decoded_at_once() const;
  /// Returns the chunk that a transfer begins in, if it must be decoded and is a run of the array's elements.
  std::optional<SourceChunk> decodes(const Transfer& transfer) const;

  /// Advice: this part of what a card stores of an array (bytes in stored order) is read soon. Returns whether there
  /// was nothing to ask for.
  bool will_need(Position card, ArrayId array, Interval bytes);

  /// Reads the elements of a box of a parameter in row-major order: as many bytes as `out` has. They come from its
  /// first copy, or where copies may differ from the card that counts.
  void read_box(ParameterId parameter, const Box& box, std::span<std::byte> out, std::span<std::byte> scratch);

  /// A sample of what a card stores of an array; it must have a dataset.
  StoredSample sample(Position card, ArrayId array);

  /// The dataset of an array on a card (an index into its file's schema), or nothing where it is absent.
  std::optional<std::size_t> dataset(Position card, ArrayId array) const;

 private:
  /// What is known of the files of a schema.
  struct Known {
    std::vector<std::uint32_t> datasets;  // of each array
    bool has_small_arrays = false;
  };

  static std::optional<std::size_t> dataset_in(const Known& known, ArrayId array);

  const Checkpoint& checkpoint_;
  const Placement& placement_;
  SourceStore& store_;
  ArrayFiles where_;
  std::map<const Schema*, Known> known_;
  std::uint64_t data_bytes_ = 0;  // of all files
  std::uint64_t window_bytes_;
  std::optional<MappedWindows> windows_;
  SourceFiles files_;
};

}  // namespace ckpt
