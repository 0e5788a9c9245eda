#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/content_sums.hpp"
#include "checkpoint/file_cache.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/source_reader.hpp"
#include "io/block_clones.hpp"
#include "io/direct_writer.hpp"
#include "layout/placement/placement.hpp"
#include "output/data_sums.hpp"
#include "output/file_specs.hpp"
#include "output/output.hpp"
#include "output/pipe.hpp"
#include "output/views.hpp"
#include "plan/chunk_sequence.hpp"
#include "plan/planner.hpp"
#include "plan/write_shares.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Where files are made, and in which form.
struct TargetPlace {
  const Output* output = nullptr;  ///< null: the one file goes to `pipe`, on the process that writes it
  Pipe* pipe = nullptr;
  bool is_single_file = false;         ///< the file has room for its manifest
  DirectIo direct_io = DirectIo::off;  ///< automatic: past the page cache, as far as the file system allows it
  bool is_placed_as_source = false;    ///< arrays begin where they could share blocks with the source
  bool shares_blocks = false;          ///< with the source, as far as the file system can
  FingerprintPlace fingerprints = FingerprintPlace::nowhere;
  bool keeps_trees = false;                ///< also where the format can only keep them
  std::vector<Pattern> dropped = {};       ///< names left out on purpose: losing their values is not reported
  NewName new_name = {};                   ///< for values that are not tensors
  const Views* views = nullptr;            ///< not null: the files have no data, and `write` is not called
  std::vector<ManifestTable> tables = {};  ///< as the manifest will list them, with any fingerprints
  ManifestHistory history = {};            ///< that the manifest keeps
};

/// The files that this process writes: makes its cards' files with all their metadata, then fills its share of them,
/// and of one that another process made, chunk by chunk.
class TargetFiles {
 public:
  /// `shares` must outlive it. `most_open`: how many files may be open at a time (`files_in_cache`).
  TargetFiles(const Checkpoint& source, const Planner& planner, Store& store, const TargetPlace& place,
              const WriteShares& shares, std::uint32_t process, std::size_t most_open);

  /// Sends trees that not every process sees to the processes that write them. Collective; before `create`.
  void fetch_trees(SourceStore& reading, Communicator& processes) { trees_.fetch(numbers_, reading, processes); }
  /// SourceTrees::sidecars, for the process that makes the first file: after `fetch_trees`, before `create`.
  std::vector<Sidecar> sidecars(SourceStore& reading) { return trees_.sidecars(reading); }
  /// Holds long texts as values where they cannot go from file to file: in a format that does not stream them, in a
  /// pipe, in files that show others, and if not every process sees the source. Collective; before `check_format`.
  /// Throws input for more than the source's store may hold.
  void hold_texts(SourceStore& reading, Communicator& processes);
  /// Reports what the output's format cannot hold; throws input for tensors that it cannot. Before all calls below.
  void check_format();
  /// As in FileSpecs; after `check_format`, before `create`.
  void add_attribute(const Attribute& attribute) { specs_->add_attribute(attribute); }
  void set_attribute(const Attribute& attribute) { specs_->set_attribute(attribute); }
  void add_checksum() noexcept { specs_->add_checksum(); }
  /// Makes the files and the room for their data, several at a time. If an earlier run is resumed, existing data may be
  /// kept. `reading`: for the source's files, which may be taken unchanged except for their data.
  void create(bool is_resumed, unsigned threads, SourceStore& reading);
  /// Sends the places of a file's data to the processes that fill a part of it. Collective, after `create`.
  void share_rooms(Communicator& processes);
  /// The chunks that this process writes.
  ChunkSequence chunks(std::uint64_t chunk_bytes, ChunkOrder order = ChunkOrder::in_step) const;
  /// ChunkSequence::take_places, once the files are made.
  void cut_where_they_lie(ChunkSequence& chunks) const;
  /// The part of an array that this process writes.
  Interval share(Position card, ArrayId array) const { return shares_.of(process_, card, array); }
  /// The process that makes a file.
  std::uint32_t owner(FileNumber file) const { return shares_.owner(where_.table().owner(file)); }
  /// Whether this process's file with a card's array had data that was kept.
  bool is_kept(Position card, ArrayId array) const { return kept_.contains(where_.file(card, array)); }
  /// The arrays of a single file in the order of their data, once it is made.
  std::vector<ArrayId> order() const;
  bool is_placed_as_source() const noexcept { return place_.is_placed_as_source; }
  /// Whether `clone` is of any use.
  bool shares_blocks() const noexcept { return place_.shares_blocks; }
  /// Lets a file share what it can of a run of the source's bytes, which belongs at this offset in the chunk. Returns
  /// the interval of the file that it then has; it is empty if the file system does not share these blocks.
  Interval clone(const Chunk& chunk, std::uint64_t offset, const StoredRun& run);
  /// Writes `bytes` from the chunk's beginning; they may extend beyond its end. `cloned`: which of them the file has
  /// already, ascending.
  void write(const Chunk& chunk, std::span<const std::byte> bytes, std::span<const Interval> cloned = {});
  /// Returns the offset of a chunk in its file.
  std::uint64_t place_of(const Chunk& chunk) const;
  /// Whether only zeros, fewer than a page, are between the end of one chunk and the beginning of another in their
  /// file: a page is written whole anyway.
  bool are_neighbours(const Chunk& first, const Chunk& second) const;
  /// Whether chunks go to a pipe, one after the other: a `write` waits for those of earlier chunks.
  bool is_pipe() const noexcept { return place_.pipe != nullptr; }
  /// Reports that the job has failed: no `write` waits any more.
  void stop(std::exception_ptr why) noexcept;
  void read(const Chunk& chunk, std::span<std::byte> bytes);
  /// Notes the sum of a chunk's bytes, as they are written, if the format's index has one of the data.
  void sum(const Chunk& chunk, std::span<const std::byte> bytes);
  /// Completes the sums of the data in this process's files; reads what an earlier run wrote. Collective; before
  /// `indexed`.
  void complete_sums(Communicator& processes);
  /// Writes each file's checksum, which depends on everything else in it. After `set_manifest`.
  void finish(unsigned threads);
  /// Waits until the files are on the disk; several at a time.
  void sync(unsigned threads);

  /// Adds the sums of what `write` does not get: metadata, and values without a fixed size.
  void add_the_rest(ContentSums& sums) const;
  /// Sums this process's share of the files' content, read from the storage.
  void sum_again(std::uint64_t chunk_bytes, unsigned threads, ContentSums& sums);

  /// The manifest's list of the files, with fingerprints if there are sums.
  std::vector<ManifestFile> list(const ContentSums* sums) const;
  /// The files' entries in the index of a format that has one.
  std::vector<IndexedFile> indexed() const;
  /// The place of a single file's manifest; and writes it there.
  ManifestRoom manifest_room() const;
  void set_manifest(const std::string& text);

 private:
  /// Calls `work` for each of this process's files, several at a time.
  void for_each_file(unsigned threads, const std::function<void(FileNumber)>& work);
  /// The bytes of its array that a chunk covers.
  Interval bytes_of(const Chunk& chunk) const;
  std::uint64_t place_in_file(Position card, ArrayId array, std::uint64_t byte) const;
  /// Whether a chunk is one run in its file.
  bool is_in_one_extent(const Chunk& chunk) const;
  /// What other processes need to fill a file.
  struct SharedRoom {
    FileNumber file = 0;
    bool is_kept = false;
    bool is_in_order = true;
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> data;  ///< by array: from and to in the file
  };
  SharedRoom shared_room(FileNumber file) const;
  /// The arrays of a card in one of its files, ascending.
  std::vector<ArrayId> arrays_in(FileNumber file) const;
  std::uint32_t sum_of_array(FileNumber file, ArrayId array);
  void create_file(FileNumber file, const FileSpec& spec, bool is_resumed);
  std::string name(FileNumber file) const;
  std::filesystem::path path(FileNumber file) const;
  Store::CreatedAgain make_file(FileNumber file, const FileSpec& spec, bool is_resumed);
  FileNumber file_of(const Chunk& chunk) const { return where_.file(chunk.card, chunk.array); }
  void add_values(ContentSums& sums) const;
  FileSpecs specs(const HeldTexts& held) const;
  Value whole_texts(FileNumber file, const LongTexts& texts, SourceStore& reading, Communicator& processes);

  /// A file that is being filled.
  struct OpenFile {
    std::unique_ptr<TargetFile> file;
    std::optional<DirectWriter> direct;           ///< for what is written past the page cache
    std::optional<BlockClones::Target> to_clone;  ///< for what is shared with the source
  };
  std::shared_ptr<OpenFile> open(FileNumber number);

  const Checkpoint& source_;
  const Planner& planner_;
  Store& store_;
  TargetPlace place_;
  const WriteShares& shares_;
  std::uint32_t process_;
  std::vector<Position> cards_;  // whose files this process makes
  ArrayFiles where_;
  std::vector<FileNumber> numbers_;  // of their files, card by card
  SourceTrees trees_;
  HeldTexts held_;
  std::optional<FileSpecs> specs_;  // from check_format on
  std::string manifest_text_;       // until the file that has it is made
  std::uint64_t manifest_bytes_;
  std::mutex making_;                                            // guards rooms_ and kept_ while files are made
  std::map<FileNumber, std::shared_ptr<const FileRoom>> rooms_;  // of all files that this process fills
  std::set<FileNumber> kept_;
  DataSums sums_;
  std::map<FileNumber, std::vector<std::uint32_t>> index_sums_;  // of this process's files: IndexedFile::sums
  BlockClones clones_;
  FileCache<OpenFile> files_;
};

}  // namespace ckpt
