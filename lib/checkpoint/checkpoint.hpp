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
#include "frameworks/file_beside.hpp"
#include "layout/file_table.hpp"
#include "layout/resolve.hpp"
#include "plan/readers.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Which checkpoint, and how it is cut.
struct CheckpointPlace {
  std::filesystem::path path;    ///< a directory, or the single file of a merged checkpoint
  std::optional<Layout> layout;  ///< absent: the one that the checkpoint carries
  unsigned threads = 0;          ///< that read files of text, if it has any; 0: a share of the node's cores
};

/// A file whose metadata is known before it is looked for.
struct KnownFile {
  std::string path;  ///< relative to the checkpoint's directory
  FileCatalog catalog;
};
/// By the names that the checkpoint's layout gives them.
using KnownFiles = std::map<std::string, KnownFile>;

/// A checkpoint's files as all processes together see them: paths, metadata, and who can read which.
class Checkpoint {
 public:
  /// Finds the files that the layout names, and reads their metadata, shared out over the processes. Without one the
  /// layout is that of the manifest, the one that all files carry, or what the directory says of itself; a single file
  /// that carries none holds everything whole. Collective; the path may differ between processes (node-local disks).
  /// Throws input, naming the file, for what is damaged, or missing where it is a card's only one or none of its entry
  /// of `files` is there: a file whose card holds nothing need not be (`resolve` judges that). Throws usage where
  /// nothing says how the files are cut.
  static Checkpoint open(const CheckpointPlace& place, SourceStore& store, Communicator& processes);

  /// The same by this layout. The metadata of known files is not read again. Collective, the arguments the same on
  /// every process but for the path.
  static Checkpoint open_as(const std::filesystem::path& path, bool is_single_file, Layout layout, KnownFiles known,
                            SourceStore& store, Communicator& processes);

  /// Of metadata that has been read already, by the files' numbers; nothing where a file is not there. `path` is a
  /// directory, or with `is_single_file` the file.
  static Checkpoint of(const std::filesystem::path& path, bool is_single_file, Layout layout,
                       std::vector<std::optional<FileCatalog>> catalogs);

  const std::filesystem::path& path() const noexcept { return path_; }
  const Layout& layout() const noexcept { return layout_; }
  /// The rules for other cards: the layout, unless the directory's own metadata says more than its framework means.
  const Layout& layout_elsewhere() const noexcept { return elsewhere_ ? *elsewhere_ : layout_; }
  void set_layout_elsewhere(Layout layout, bool describes_itself) {
    elsewhere_ = std::move(layout);
    describes_itself_ = describes_itself;
  }
  /// The small files that a directory of the same form has beside those with data.
  const std::vector<FileBeside>& beside() const noexcept { return beside_; }
  void set_beside(std::vector<FileBeside> files) { beside_ = std::move(files); }
  /// Where the whole model's tensors are best taken from, by their names: master weights, and the weights to which
  /// others are tied. What is not named stands for itself. None where the directory does not say it.
  const std::map<std::string, std::string>& masters() const noexcept { return masters_; }
  void set_masters(std::map<std::string, std::string> masters) { masters_ = std::move(masters); }
  /// Tensors of which an index and its files say different things: errors where they are taken, thrown by `resolve`.
  const std::vector<std::pair<std::string, Error>>& contradictions() const noexcept { return contradictions_; }
  void set_contradictions(std::vector<std::pair<std::string, Error>> found) { contradictions_ = std::move(found); }
  /// Of parameters whose names match, the lowest card's copy counts and the others may differ. Warns of a pattern that
  /// matches none.
  void take_first_copies(const std::vector<Pattern>& names);
  /// Whether the layout is what the directory says of itself: nobody wrote it, so nobody was mistaken.
  bool describes_itself() const noexcept { return describes_itself_; }

  /// The files that the layout names, and which of them are there: the others are as if empty.
  const FileTable& table() const noexcept { return table_; }
  bool is_there(FileNumber file) const { return is_there_[file]; }
  std::vector<FileNumber> missing() const;
  const std::vector<FileCatalog>& files() const noexcept { return files_; }
  const FileCatalog& file(FileNumber file) const { return files_[file]; }
  std::filesystem::path file_path(FileNumber file) const;
  /// Opens a file whose datasets are counted as `file` has them.
  std::unique_ptr<SourceFile> open_file(FileNumber file, SourceStore& store) const;
  std::string file_name(FileNumber file) const;
  /// It, and the files whose data it shows: all that is read of it.
  std::vector<std::filesystem::path> paths_read(FileNumber file) const;

  /// Schema::tree_names of the file that has them.
  const std::map<std::string, std::string>& tree_names() const;

  /// What each card holds: the arrays of all files that it owns, by their names with the files' prefixes.
  std::vector<Holding> holdings() const;
  /// The dataset of this (prefixed) name on a card, or null.
  const Dataset* find(Position card, const std::string& stored) const;
  /// "mp_rank_00.h5: /w": where that is.
  std::string place(Position card, const std::string& stored) const;

  /// Whether every process sees every file, and the same one: of the same size and time.
  bool is_shared() const noexcept { return owners_of_unshared_.empty(); }
  /// Which process reads each card's files when readers send to writers: one that sees them all, the loads balanced.
  Owners owners(std::uint32_t processes) const;

  /// The cards whose files a process sees and that are its share of all; and these files, as far as they are there.
  std::vector<Position> own_cards(std::uint32_t process, std::uint32_t processes) const;
  std::vector<FileNumber> own_files(std::uint32_t process, std::uint32_t processes) const;

  /// Throws input when a file, or one that it shows, has changed since its metadata was read.
  void check_unchanged(SourceStore& store, FileNumber file) const;

 private:
  FileNumber file_of(Position card, const std::string& stored) const;
  void find_paths(const KnownFiles& known);
  void find_files(SourceStore& store, Communicator& processes);
  void check_missing(bool is_alone) const;
  Holding holding_of(const std::vector<FileNumber>& files) const;
  void warn_of_others(SourceStore& store) const;
  void read_metadata(const KnownFiles& known, SourceStore& store, Communicator& processes);
  void check_plan(SourceStore& store, Communicator& processes);
  void keep(std::vector<std::optional<FileCatalog>> catalogs);

  std::filesystem::path path_;
  bool is_single_file_ = false;
  Layout layout_;
  std::optional<Layout> elsewhere_;
  bool describes_itself_ = false;
  std::vector<FileBeside> beside_;
  std::map<std::string, std::string> masters_;
  std::vector<std::pair<std::string, Error>> contradictions_;
  FileTable table_;
  std::vector<std::string> paths_;  // by number, where they are not the names; else empty
  std::vector<bool> is_there_;      // by number, as the following
  std::vector<FileCatalog> files_;  // of nothing where there is no file
  std::vector<SharedFile> shared_;  // by number, where files_ are what cards own of them; else empty
  Owners owners_of_unshared_;
};

/// Throws usage where a layout does not speak of one card with one file.
void check_single_file(const std::filesystem::path& path, const Layout& layout);

/// What its layout makes of a checkpoint. Throws as resolve_source does, and names the files that are missing; where
/// what is there leaves nothing for them, that is a warning.
Resolved resolve(const Checkpoint& checkpoint, const Keep& keep = {}, const ExpectedShape& expected = {});

}  // namespace ckpt
