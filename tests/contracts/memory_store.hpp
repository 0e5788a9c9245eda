#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "store/store.hpp"

namespace ckpt::contract {

/// What a file system is to other stores: files by path, for any number of stores. Threads may share one.
class MemoryFiles {
 public:
  /// A file's content: it stays for as long as somebody has it open.
  class File {
   public:
    File(std::string bytes, std::int64_t time_ns) : modified_ns(time_ns), bytes_(std::move(bytes)) {}

    std::string bytes() const;
    void read(std::uint64_t offset, std::span<std::byte> out) const;  ///< throws input behind the end
    void write(std::uint64_t offset, std::span<const std::byte> data);
    PartialSum sum_outside(std::vector<Interval> data) const;

    const std::int64_t modified_ns;

   private:
    mutable std::mutex mutex_;
    std::string bytes_;
  };

  /// Throws input where there is none.
  std::shared_ptr<File> find(const std::filesystem::path& file) const;
  /// Another file in its place, with a time of its own.
  void put(const std::filesystem::path& file, std::string bytes);
  void remove(const std::filesystem::path& file);
  /// All that lies below a directory, as a rename of the directory moves it.
  void rename(const std::filesystem::path& directory, const std::filesystem::path& to);
  std::optional<FileStatus> look_at(const std::filesystem::path& path) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::int64_t clock_ = 0;
};

/// Checkpoint files in memory: for tests of what reads and writes them. A file is `magic`, the length of its metadata
/// (64 bits), the metadata, and the arrays' bytes.
class MemoryStore final : public Store {
 public:
  static constexpr std::string_view magic = "MEMORY\r\n";

  /// With `slice_bytes`, each array of a new file lies in extents of at most so many bytes, the last one first, with a
  /// gap before each; else whole.
  explicit MemoryStore(std::shared_ptr<MemoryFiles> files, std::uint64_t slice_bytes = 0)
      : files_(std::move(files)), slice_bytes_(slice_bytes) {}

  std::optional<FileStatus> look_at(const std::filesystem::path& path) override;
  bool recognises(const std::filesystem::path& file) override;
  FileCatalog catalog(const std::filesystem::path& file) override;
  std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) override;

  std::string_view name() const noexcept override { return "memory"; }
  void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) const override;
  std::vector<std::string> losses(const FileSpec& spec) const override;
  std::shared_ptr<const NewFile> form(const FileSpec& spec) override;
  FileRoom create(const std::filesystem::path& file, const FileSpec& spec) override;
  CreatedAgain create_again(const std::filesystem::path& file, const FileSpec& spec) override;
  std::unique_ptr<TargetFile> open_to_fill(const std::filesystem::path& file, const FileRoom& room) override;

 private:
  std::shared_ptr<MemoryFiles> files_;
  std::uint64_t slice_bytes_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Schema>> schemas_;  // by the metadata that says so
};

}  // namespace ckpt::contract
