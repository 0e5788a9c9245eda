#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/card_views.hpp"
#include "frameworks/sidecar.hpp"
#include "layout/names/file_table.hpp"
#include "layout/placement/resolve.hpp"
#include "plan/readers.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

struct CarriedManifest;

/// A checkpoint's location and its layout.
struct CheckpointPlace {
  std::filesystem::path path;    ///< a directory, or the single file of a merged checkpoint
  std::optional<Layout> layout;  ///< absent: the one that the checkpoint carries
  unsigned threads = 0;          ///< that read text files, if it has any; 0: a share of the node's cores
  /// What the directory's manifest says (`read_carried`); null: nobody has read it.
  std::shared_ptr<const CarriedManifest> manifest = {};
};

/// A file whose metadata is known before the file is looked for.
struct KnownFile {
  std::string path;                    ///< relative to the checkpoint's directory
  std::optional<FileCatalog> catalog;  ///< nothing: an index names the file, which is lost, or it is
                                       ///< of another checkpoint
};
/// Keyed by the names that the checkpoint's layout gives the files.
using KnownFiles = std::map<std::string, KnownFile>;

class DequantisedFiles;
struct Dequantisation;
class AveragedFiles;
struct Averaging;

/// A checkpoint's files as all processes together see them: paths, metadata, and who can read which.
class Checkpoint {
 public:
  /// Finds the files that the layout names, and reads their metadata; the processes share the work. Without a given
  /// layout, the manifest, the files (all of them carry the same one) or the directory's own metadata supply it; a
  /// single file that carries none holds everything whole. Collective; the path may differ between processes
  /// (node-local disks). Throws input, naming the file, if a file is damaged, or missing where it is a card's only one
  /// or all files of its entry of `files` are missing; `resolve` judges other missing files, whose card may hold
  /// nothing. Throws usage if nothing says how the files are sharded.
  static Checkpoint open(const CheckpointPlace& place, SourceStore& store, Communicator& processes);

  /// As `open`, with this layout. Does not read the metadata of `known` files again. Collective: all arguments but the
  /// path are the same on every process.
  static Checkpoint open_as(const std::filesystem::path& path, bool is_single_file, Layout layout, KnownFiles known,
                            SourceStore& store, Communicator& processes);

  /// Builds a checkpoint from metadata already read, by file number; an entry is empty where its file is missing.
  /// `path` is a directory, or with `is_single_file` the file.
  static Checkpoint of(const std::filesystem::path& path, bool is_single_file, Layout layout,
                       std::vector<std::optional<FileCatalog>> catalogs);

  const std::filesystem::path& path() const noexcept { return path_; }
  bool is_single_file() const noexcept { return is_single_file_; }
  const Layout& layout() const noexcept { return layout_; }
  /// The rules for other cards: the layout, unless the directory's own metadata records accidental details, too.
  const Layout& layout_elsewhere() const noexcept { return elsewhere_ ? *elsewhere_ : layout_; }
  void set_layout_elsewhere(Layout layout) { elsewhere_ = std::move(layout); }
  /// The small files that a directory of the same form has beside its data files.
  const std::vector<Sidecar>& sidecars() const noexcept { return sidecars_; }
  void set_sidecars(std::vector<Sidecar> files) { sidecars_ = std::move(files); }
  /// Maps a tensor of the whole model to the one that best supplies its data: master weights, and the weights to which
  /// others are tied. A name without an entry supplies itself. Empty where the directory does not say.
  const std::map<std::string, std::string>& masters() const noexcept { return masters_; }
  void set_masters(std::map<std::string, std::string> masters) { masters_ = std::move(masters); }
  /// Tensors about which an index and its files contradict each other: `resolve` throws these errors if they are used.
  const std::vector<std::pair<std::string, Error>>& contradictions() const noexcept { return contradictions_; }
  void set_contradictions(std::vector<std::pair<std::string, Error>> found) { contradictions_ = std::move(found); }
  /// For parameters with matching names, only the lowest card's copy counts, and the others may differ. Warns of each
  /// pattern that matches none.
  void take_first_copies(const std::vector<Pattern>& names);
  /// From here on shows quantised weights as numbers (`DequantisedFiles`, which throws).
  void dequantise(const Dequantisation& how);
  /// Null: weights are shown as they are stored.
  const DequantisedFiles* dequantised() const noexcept { return dequantised_.get(); }
  /// From here on shows the average of this checkpoint with others (`AveragedFiles`, which throws), cut as it is
  /// itself.
  void average(Averaging how, SourceStore& store);
  /// Null: it shows its own data.
  const AveragedFiles* averaged() const noexcept { return averaged_.get(); }
  /// What its manifest says, for `carried_manifest`. Null: nobody has read it.
  const std::shared_ptr<const CarriedManifest>& manifest() const noexcept { return read_->manifest; }
  /// Keeps it for this checkpoint and its copies: whoever asks first has it read, once.
  void keep_manifest(std::shared_ptr<const CarriedManifest> manifest) const { read_->manifest = std::move(manifest); }
  /// Whether the layout comes from the directory's own metadata, so that no person can have got it wrong.
  bool describes_itself() const noexcept { return describes_itself_; }
  void set_describes_itself(bool does) { describes_itself_ = does; }

  /// The files that the layout names, and which of them exist; missing ones count as empty.
  const FileTable& table() const noexcept { return table_; }
  bool is_there(FileNumber file) const { return is_there_[file]; }
  std::vector<FileNumber> missing() const;
  const std::vector<FileCatalog>& files() const noexcept { return files_; }
  const FileCatalog& file(FileNumber file) const { return files_[file]; }
  std::filesystem::path file_path(FileNumber file) const;
  /// Opens a file; its datasets are numbered as in `file(FileNumber)`.
  std::unique_ptr<SourceFile> open_file(FileNumber file, SourceStore& store) const;
  std::string file_name(FileNumber file) const;
  /// All paths that reading this file touches: its own, and those of the files whose data it shows.
  std::vector<std::filesystem::path> paths_read(FileNumber file) const;
  /// The paths that a process reads, the manifest among them: nothing may overwrite them.
  std::vector<std::filesystem::path> paths_read_by(std::uint32_t process, std::uint32_t processes) const;

  /// Schema::tree_names, from the file that has them.
  const std::map<std::string, std::string>& tree_names() const;

  /// What each card holds: the arrays of all files that it owns, under their names with the files' prefixes.
  std::vector<CardArrays> card_arrays() const;
  /// The dataset of this (prefixed) name on a card, or null.
  const Dataset* find(Position card, const std::string& stored) const;
  /// A dataset's location in words: "mp_rank_00.h5: /w".
  std::string place(Position card, const std::string& stored) const;

  /// Whether every process sees every file with the same size and time.
  bool is_shared() const noexcept { return owners_of_unshared_.empty(); }
  /// Which process reads each card's files when readers send to writers: one that sees them all, with balanced loads.
  Owners owners(std::uint32_t processes) const;
  /// The bytes of each card's own files; 0 for a card that shares another's.
  std::vector<std::uint64_t> card_bytes() const;

  /// A process's share of the cards whose files it sees; and the files of these cards that exist.
  std::vector<Position> own_cards(std::uint32_t process, std::uint32_t processes) const;
  std::vector<FileNumber> own_files(std::uint32_t process, std::uint32_t processes) const;

  /// Throws input if a file, or one whose data it shows, has changed since its metadata was read.
  void check_unchanged(SourceStore& store, FileNumber file) const;

 private:
  FileNumber file_of(Position card, const std::string& stored) const;
  void find_paths(const KnownFiles& known);
  void find_files(const KnownFiles& known, SourceStore& store, Communicator& processes);
  void check_missing(bool is_alone) const;
  CardArrays arrays_of_card(const std::vector<FileNumber>& files) const;
  bool is_for_directory() const;
  void warn_of_others(const KnownFiles& known, SourceStore& store) const;
  void read_metadata(const KnownFiles& known, SourceStore& store, Communicator& processes);
  void check_plan(SourceStore& store, Communicator& processes);
  void keep(std::vector<std::optional<FileCatalog>> catalogs);

  /// What was read after the checkpoint was opened; its copies share it.
  struct ReadLater {
    std::shared_ptr<const CarriedManifest> manifest;
  };

  std::filesystem::path path_;
  bool is_single_file_ = false;
  std::shared_ptr<ReadLater> read_ = std::make_shared<ReadLater>();
  Layout layout_;
  std::optional<Layout> elsewhere_;
  bool describes_itself_ = false;
  std::vector<Sidecar> sidecars_;
  std::map<std::string, std::string> masters_;
  std::vector<std::pair<std::string, Error>> contradictions_;
  FileTable table_;
  std::vector<std::string> paths_;  // by file number, where they differ from the names; else empty
  std::vector<bool> is_there_;      // by file number, as the members below
  std::vector<FileCatalog> files_;  // empty where the file is missing
  std::vector<SharedFile> shared_;  // by file number, where files_ has only the cards' own parts; else empty
  Owners owners_of_unshared_;
  std::shared_ptr<const DequantisedFiles> dequantised_;
  std::shared_ptr<const AveragedFiles> averaged_;
};

/// Throws usage unless the layout has one card with one file.
void check_single_file(const std::filesystem::path& path, const Layout& layout);

/// Applies the checkpoint's layout to its files. Throws as resolve_source does, and names the missing files; warns of
/// missing files where the rest leaves nothing for them to hold.
Resolved resolve(const Checkpoint& checkpoint, const Keep& keep = {}, const ExpectedShape& expected = {});

}  // namespace ckpt
