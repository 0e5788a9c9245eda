#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/file_cache.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The files that others of a store show (Storage::views). A view says in which file its elements lie, and whoever
/// wrote it may have named any: only what lies where it may, and is what the view says, is read. May be used from
/// several threads at once.
class ViewedFiles {
 public:
  /// A file that is shown, open.
  struct Shown {
    FileCatalog catalog;
    std::unique_ptr<SourceFile> file;
  };

  using Catalog = std::function<FileCatalog(const std::filesystem::path&)>;
  using Open = std::function<std::unique_ptr<SourceFile>(const std::filesystem::path&, const FileCatalog&)>;
  ViewedFiles(Catalog catalog, Open open);

  /// As SourceStore::let_show.
  void let_show(const std::filesystem::path& directory);

  /// A file's catalog with what is to be known of the files that it shows: their versions, the shapes of their
  /// datasets, the memory that decoding these takes. An array that shows one that is missing, lies where it may not, or
  /// does not hold what is shown, is one that cannot be read (StoredArray::refusal).
  FileCatalog checked(const std::filesystem::path& file, FileCatalog catalog);

  /// Throws input where it is no longer the version that was catalogued.
  std::shared_ptr<Shown> open(const std::filesystem::path& shown, const FileCatalog::Version& version);

 private:
  FileCatalog catalog_of(const std::filesystem::path& shown);
  bool may_show(const std::filesystem::path& file, const std::filesystem::path& shown) const;
  FileCatalog found(const std::filesystem::path& file, const std::filesystem::path& shown, const ViewedFile& expected);

  Catalog catalog_;
  Open open_;
  std::mutex mutex_;                          // for what follows
  std::vector<std::filesystem::path> trees_;  // without links
  std::map<std::filesystem::path, FileCatalog> known_;
  std::map<std::filesystem::path, std::uint64_t> numbers_;
  std::vector<std::filesystem::path> paths_;  // by number
  FileCache<Shown> files_;
};

}  // namespace ckpt
