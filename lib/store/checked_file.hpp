#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "io/crc.hpp"
#include "io/posix_file.hpp"
#include "store/offset_file.hpp"

namespace ckpt {

/// A source file of raw datasets that are compared with stored checksums, once each, before they are read. A derived
/// class has the checksums (`SourceFile::stored_sum`).
class CheckedFile : public SourceFile {
 public:
  CheckedFile(const std::filesystem::path& path, const FileCatalog& catalog)
      : CheckedFile(std::make_unique<OffsetFile>(path, catalog), path, catalog) {}
  /// `file`: how it is read.
  CheckedFile(std::unique_ptr<SourceFile> file, const std::filesystem::path& path, const FileCatalog& catalog)
      : file_(std::move(file)),
        own_(PosixFile::open_for_reading(path)),
        schema_(catalog.schema),
        are_checked_(schema_->datasets.size()) {}

  void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    check(dataset);
    file_->read(dataset, offset, out);
  }
  void check(std::size_t dataset) final {
    const auto stored = stored_sum(dataset);
    if (stored) std::call_once(once(dataset), [&] { compare(dataset, stored->kind->of(own_, stored->place)); });
  }
  std::optional<StridedForm> strided(std::size_t dataset) const override { return file_->strided(dataset); }
  void compare(std::size_t dataset, std::uint32_t sum) const override {
    const StoredSum stored = stored_sum(dataset).value();
    stored.kind->check(sum, stored.value, own_.path() + ": /" + schema_->arrays->at(dataset).name);
  }
  void read_as_stored(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    file_->read_as_stored(dataset, offset, out);
  }
  bool will_need(std::size_t dataset, Interval bytes) override { return file_->will_need(dataset, bytes); }
  std::optional<LocatedExtent> located(std::size_t dataset, std::uint64_t offset) const override {
    return file_->located(dataset, offset);
  }
  PartialSum sum_rest(const std::optional<FileSegment>& left_out) override { return file_->sum_rest(left_out); }

 protected:
  const PosixFile& own() const noexcept { return own_; }
  const Dataset& dataset(std::size_t number) const { return schema_->datasets.at(number); }
  /// Returns the flag of a dataset's checksum: one for several datasets that share it.
  virtual std::once_flag& once(std::size_t dataset) { return are_checked_.at(dataset); }

 private:
  std::unique_ptr<SourceFile> file_;
  PosixFile own_;
  std::shared_ptr<const Schema> schema_;
  std::deque<std::once_flag> are_checked_;
};

}  // namespace ckpt
