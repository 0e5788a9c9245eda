#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "store/store.hpp"

/// Files with archives of torch.save, whose data is checked against its stored CRC-32, if there is one.
namespace ckpt::torch {

/// A storage of a file. A process checks it once, before it uses the first of its bytes.
struct CheckedStorage {
  Interval place;
  std::uint32_t crc = 0;
  std::once_flag is_checked = {};
};

/// Storages by their first byte.
using CheckedStorages = std::map<std::uint64_t, CheckedStorage>;

/// Opens a file of a DCP directory, in which each dataset is the storage of its own archive: the checksum follows the
/// storage. Reading throws as with CheckedFiles.
std::unique_ptr<SourceFile> open_items(const std::filesystem::path& path, const FileCatalog& catalog);

/// Remembers the storages of files, so that each is checked once, however often its file is opened.
class CheckedFiles {
 public:
  /// Opens a file of torch.save. Reading throws input, naming tensor and storage, if the bytes differ from those that
  /// were written.
  std::unique_ptr<SourceFile> open(const std::filesystem::path& path, const FileCatalog& catalog);
  /// Opens it, too; `file` reads it.
  std::unique_ptr<SourceFile> checked(std::unique_ptr<SourceFile> file, const std::filesystem::path& path,
                                      const FileCatalog& catalog);

 private:
  struct Known {
    std::int64_t modified_ns = 0;
    std::shared_ptr<CheckedStorages> storages;
  };
  std::shared_ptr<CheckedStorages> storages_of(const std::filesystem::path& path, const FileCatalog& catalog);

  std::mutex mutex_;
  std::map<std::filesystem::path, Known> known_;
};

}  // namespace ckpt::torch
