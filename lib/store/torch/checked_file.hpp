#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "store/store.hpp"

/// Files with archives of torch.save whose data is held against the CRC-32 that was written with it, where one was.
namespace ckpt::torch {

/// A storage of a file, which is looked at once by a process, before the first of its bytes is used.
struct CheckedStorage {
  Interval place;
  std::uint32_t crc = 0;
  std::once_flag is_checked = {};
};

/// By where they begin.
using CheckedStorages = std::map<std::uint64_t, CheckedStorage>;

/// Opens a file of a DCP directory, in which each dataset is the storage of an archive by itself: its sum stands behind
/// it. Reading throws as that of CheckedFiles.
std::unique_ptr<SourceFile> open_items(const std::filesystem::path& path, const FileCatalog& catalog);

/// The storages of files, so that each is summed once, however often its file is opened.
class CheckedFiles {
 public:
  /// Opens a file of torch.save. Reading throws input, naming tensor and storage, where bytes are not those that were
  /// written.
  std::unique_ptr<SourceFile> open(const std::filesystem::path& path, const FileCatalog& catalog);

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
