#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/file_cache.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The files that other files of a store show (Storage::views). A view names the file with its elements, and its writer
/// may have named any file: only files in permitted places that match the view are read. Threads may share an object.
class ViewedFiles {
 public:
  /// An open file whose elements are shown.
  struct ShownFile {
    FileCatalog catalog;
    std::unique_ptr<SourceFile> file;
  };

  using Catalog = std::function<FileCatalog(const std::filesystem::path&)>;
  using Open = std::function<std::unique_ptr<SourceFile>(const std::filesystem::path&, const FileCatalog&)>;
  ViewedFiles(Catalog catalog, Open open);

  /// See ckpt::let_show.
  void let_show(const std::filesystem::path& directory);

  /// Completes a file's catalog with facts about the files that it shows: their versions, the shapes of their datasets,
  /// the memory for decoding these. An array becomes unreadable (StoredArray::refusal) if it shows a file that is
  /// missing, lies outside permitted places, or does not hold these elements.
  FileCatalog checked(const std::filesystem::path& file, FileCatalog catalog);

  /// Throws input if the file is no longer the version in the catalog.
  std::shared_ptr<ShownFile> open(const std::filesystem::path& shown, const FileCatalog::Version& version);

 private:
  FileCatalog catalog_of(const std::filesystem::path& shown);
  bool may_show(const std::filesystem::path& file, const std::filesystem::path& shown) const;
  FileCatalog found(const std::filesystem::path& file, const std::filesystem::path& shown, const ViewedFile& expected);

  Catalog catalog_;
  Open open_;
  std::mutex mutex_;                          // guards the members below
  std::vector<std::filesystem::path> trees_;  // with links resolved
  std::map<std::filesystem::path, FileCatalog> known_;
  std::map<std::filesystem::path, std::uint64_t> numbers_;
  std::vector<std::filesystem::path> paths_;  // by number
  FileCache<ShownFile> files_;
};

}  // namespace ckpt
