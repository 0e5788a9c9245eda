#pragma once

#include <memory>

#include "io/posix_file.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A source file whose datasets are stored in it as they are: they are read and mapped by offset. A derived class reads
/// what a format stores in any other way.
class OffsetFile : public SourceFile {
 public:
  /// Throws input if the file no longer has the size in its catalog.
  OffsetFile(const std::filesystem::path& path, const FileCatalog& catalog);

  void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) final;
  std::optional<StridedForm> strided(std::size_t dataset) const final;
  void read_as_stored(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) final;
  bool will_need(std::size_t dataset, Interval bytes) final;
  std::optional<LocatedExtent> located(std::size_t dataset, std::uint64_t offset) const final;
  PartialSum sum_rest(const std::optional<FileSegment>& left_out) final;

 protected:
  /// Reads bytes of a dataset of Storage::filtered or views; the range lies within it.
  virtual void read_by_format(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out);

  const PosixFile& file() const noexcept { return file_; }
  const std::shared_ptr<const Schema>& schema() const noexcept { return schema_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  /// Throws input if a dataset of `bytes` bytes lacks any of those requested.
  void check_range(std::size_t dataset, std::uint64_t bytes, std::uint64_t offset, std::uint64_t count) const;
  std::string name_of(std::size_t dataset) const;
  /// Runs `work` and adds the dataset's name to its errors.
  template <class Work>
  void naming(std::size_t dataset, Work&& work) const;

  PosixFile file_;
  PosixFile::Status status_;
  bool is_local_;
  std::shared_ptr<const Schema> schema_;
  std::uint64_t bytes_;
};

/// A target file that is written by offset.
class OffsetTarget final : public TargetFile {
 public:
  OffsetTarget(const std::filesystem::path& path, const FileRoom& room)
      : file_(PosixFile::open_for_writing(path)), room_(room) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override { file_.write(offset, bytes); }
  void read(std::uint64_t offset, std::span<std::byte> out) override { file_.read(offset, out); }
  void sync() override { file_.sync(); }
  void drop_cached() override { file_.drop_cached(); }
  PartialSum sum_rest() override;

 private:
  PosixFile file_;
  const FileRoom& room_;
};

}  // namespace ckpt
