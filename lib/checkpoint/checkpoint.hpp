#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "plan/readers.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Which checkpoint, and how it is cut.
struct CheckpointPlace {
  std::filesystem::path path;    ///< a directory, or the single file of a merged checkpoint
  std::optional<Layout> layout;  ///< absent: the one that the checkpoint carries
};

/// A checkpoint's files as all processes together see them: paths, metadata, and who can read which.
class Checkpoint {
 public:
  /// Finds the files that the layout names (a single file without a layout holds everything whole), and reads their
  /// metadata, shared out over the processes. Collective; the path may differ between processes (node-local disks).
  /// Throws input, naming the file, for what is missing or damaged.
  static Checkpoint open(const CheckpointPlace& place, SourceStore& store, Communicator& processes);

  const std::filesystem::path& path() const noexcept { return path_; }
  const Layout& layout() const noexcept { return layout_; }
  const std::vector<FileCatalog>& files() const noexcept { return files_; }
  const FileCatalog& file(Position card) const noexcept { return files_[card]; }
  std::vector<Holding> holdings() const;

  /// Whether every process sees every file, and the same one: of the same size and time.
  bool is_shared() const noexcept { return owners_of_unshared_.empty(); }
  /// Which process reads each card's file when readers send to writers: one that sees it, the loads balanced.
  Owners owners(std::uint32_t processes) const;

  /// The cards whose files a process sees and that are its share of all.
  std::vector<Position> own_cards(std::uint32_t process, std::uint32_t processes) const;

  std::filesystem::path file_path(Position card) const;
  std::string file_name(Position card) const;

  /// Throws input when a file has changed since its metadata was read.
  void check_unchanged(SourceStore& store, Position card) const;

 private:
  void find_files(SourceStore& store, Communicator& processes);
  void warn_of_others() const;
  void read_metadata(SourceStore& store, Communicator& processes);

  std::filesystem::path path_;
  bool is_single_file_ = false;
  Layout layout_;
  std::vector<FileCatalog> files_;  // by position
  Owners owners_of_unshared_;
};

}  // namespace ckpt
