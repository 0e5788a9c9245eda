#include "store/zip/checked_file.hpp"

#include <deque>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "io/crc.hpp"
#include "store/checked_file.hpp"
#include "store/guarded_reading.hpp"
#include "store/offset_file.hpp"
#include "store/pickle/little_endian.hpp"
#include "store/torch/legacy_file.hpp"
#include "store/zip/archive.hpp"
#include "store/zip/zip_directory.hpp"

namespace ckpt::torch {

namespace {

/// Places with checksums.
using Sums = std::vector<std::pair<Interval, std::uint32_t>>;

/// Returns those of the entries that have a checksum.
Sums sums_in(const PosixFile& file, std::uint64_t file_bytes) {
  Sums sums;
  if (!is_legacy_file(file, file_bytes))
    for (const ZipEntry& entry : zip_directory(file, {0, file_bytes}, Deflated::taken))
      if (entry.crc != 0 && entry.place.size() != 0 && !entry.inflated_bytes) sums.emplace_back(entry.place, entry.crc);
  return sums;
}

class CheckedArchive final : public CheckedFile {
 public:
  CheckedArchive(std::unique_ptr<SourceFile> file, const std::filesystem::path& path, const FileCatalog& catalog,
                 std::shared_ptr<CheckedStorages> storages)
      : CheckedFile(std::move(file), path, catalog), storages_(std::move(storages)) {}

  std::optional<StoredSum> stored_sum(std::size_t number) const override {
    const CheckedStorage* const storage = storage_of(number);
    return storage == nullptr ? std::nullopt : std::optional(StoredSum{&crc32, storage->crc, storage->place});
  }

 private:
  std::once_flag& once(std::size_t number) override { return storage_of(number)->is_checked; }

  /// Returns the storage that holds a dataset; null if it has no checksum.
  CheckedStorage* storage_of(std::size_t number) const {
    const FileExtents& extents = dataset(number).extents;
    if (extents.bytes() == 0) return nullptr;
    const auto behind = storages_->upper_bound(extents.offset());
    if (behind == storages_->begin()) return nullptr;
    CheckedStorage& storage = std::prev(behind)->second;
    return extents.offset() < storage.place.hi ? &storage : nullptr;
  }

  std::shared_ptr<CheckedStorages> storages_;
};

class CheckedItems final : public CheckedFile {
 public:
  CheckedItems(const std::filesystem::path& path, const FileCatalog& catalog)
      : CheckedFile(path, catalog), file_bytes_(catalog.bytes), items_(catalog.schema->datasets.size()) {}

  std::optional<StoredSum> stored_sum(std::size_t number) const override {
    const FileExtents& extents = dataset(number).extents;
    if (extents.bytes() == 0) return std::nullopt;
    const Interval place{extents.offset(), extents.offset() + extents.bytes()};
    Item& item = items_.at(number);
    std::call_once(item.is_known, [&] { item.sum = sum_behind(place); });
    return item.sum == 0 ? std::nullopt : std::optional(StoredSum{&crc32, item.sum, place});
  }

 private:
  /// Reads the record after an entry's bytes: mark, CRC, size, size, of 4 bytes each, or with sizes of 8 bytes. Returns
  /// 0 if there is no such record.
  std::uint32_t sum_behind(Interval place) const {
    constexpr std::string_view mark = "PK\7\10";
    constexpr std::uint64_t descriptor_bytes = 16;
    if (file_bytes_ < place.hi || file_bytes_ - place.hi < descriptor_bytes) return 0;
    const std::string found = own().text(place.hi, descriptor_bytes);
    const auto number = [&](std::size_t at, std::size_t count) { return little_endian(found.substr(at, count)); };
    const bool is_its_own = number(8, 4) == place.size() || number(8, 8) == place.size();
    return found.starts_with(mark) && is_its_own ? static_cast<std::uint32_t>(number(4, 4)) : 0;
  }

  struct Item {
    std::once_flag is_known;
    std::uint32_t sum = 0;
  };

  std::uint64_t file_bytes_;
  mutable std::deque<Item> items_;
};

}  // namespace

std::unique_ptr<SourceFile> open_items(const std::filesystem::path& path, const FileCatalog& catalog) {
  return std::make_unique<CheckedItems>(path, catalog);
}

std::unique_ptr<SourceFile> CheckedFiles::open(const std::filesystem::path& path, const FileCatalog& catalog) {
  return checked(std::make_unique<OffsetFile>(path, catalog), path, catalog);
}

std::unique_ptr<SourceFile> CheckedFiles::checked(std::unique_ptr<SourceFile> file, const std::filesystem::path& path,
                                                  const FileCatalog& catalog) {
  auto storages = storages_of(path, catalog);
  if (storages->empty()) return file;
  return std::make_unique<CheckedArchive>(std::move(file), path, catalog, std::move(storages));
}

std::shared_ptr<CheckedStorages> CheckedFiles::storages_of(const std::filesystem::path& path,
                                                           const FileCatalog& catalog) {
  const std::lock_guard lock(mutex_);
  Known& known = known_[path];
  if (known.storages && known.modified_ns == catalog.modified_ns) return known.storages;
  const PosixFile file = PosixFile::open_for_reading(path);
  const Sums sums = with_file(path.string(), [&] {
    return read_guarded<sums_in>(file, catalog.bytes, "torch", limits_of_file(catalog.bytes));
  });
  known = {catalog.modified_ns, std::make_shared<CheckedStorages>()};
  for (const auto& [place, crc] : sums) {
    CheckedStorage& storage = (*known.storages)[place.lo];
    storage.place = place;
    storage.crc = crc;
  }
  return known.storages;
}

}  // namespace ckpt::torch
