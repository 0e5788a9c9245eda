#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/communicator.hpp"
#include "layout/layout.hpp"
#include "plan/readers.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A checkpoint's files as all processes together see them: paths, metadata, and who can read which.
class Checkpoint {
 public:
  /// Finds the files that the layout names (absent: the layout that the checkpoint carries; a single file without one
  /// holds everything whole), and reads their metadata, shared out over the processes. Collective; `path` may differ
  /// between processes (node-local disks). Throws input, naming the file, for what is missing or damaged.
  static Checkpoint open(const std::filesystem::path& path, const std::optional<Layout>& layout, SourceStore& store,
                         Communicator& processes);

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
