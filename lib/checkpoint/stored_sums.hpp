#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "layout/names/file_table.hpp"
#include "plan/planner.hpp"
#include "store/store.hpp"

namespace ckpt {

/// Compares data with the checksums that its files have of it (SourceFile::stored_sum) while it is read, so that it is
/// not read twice: the sum of an array is put together from those of its pieces, in whatever order they come. Threads
/// may share one.
class StoredSums {
 public:
  /// One of the checksums.
  class Sum;

  /// `is_read_through`: whether the dataset of a transfer is read from its begin to its end, in one go. Any other is
  /// better compared before it is read: its sum would stay open for long.
  explicit StoredSums(std::function<bool(const Transfer&)> is_read_through);
  ~StoredSums();
  StoredSums(const StoredSums&) = delete;
  StoredSums& operator=(const StoredSums&) = delete;
  StoredSums(StoredSums&&) = delete;
  StoredSums& operator=(StoredSums&&) = delete;

  /// Returns the sum of a dataset that a transfer is about to be read from. Where that is not to be put
  /// together here, compares it now (SourceFile::check), and returns null.
  std::shared_ptr<Sum> of(SourceFile& file, FileNumber number, std::size_t dataset, const Transfer& transfer);

  /// Adds bytes of a dataset that were read; `offset` is that of the first one in the file. Throws input as
  /// SourceFile::check does, if they complete a sum that is another.
  void add(Sum& sum, SourceFile& file, std::uint64_t offset, std::span<const std::byte> bytes);

  /// How many sums have been begun; all of a lower number than `compared` have been compared. So what was read while
  /// `begun` was n is known to be good when `compared` is n, too.
  std::uint64_t begun() const;
  std::uint64_t compared() const;

  /// Compares the sums of data that was not read to its end, by reading it once more.
  void finish(unsigned threads, const std::function<std::shared_ptr<SourceFile>(FileNumber)>& open);

 private:
  std::function<bool(const Transfer&)> is_read_through_;
  mutable std::mutex mutex_;
  std::map<std::pair<FileNumber, std::uint64_t>, std::shared_ptr<Sum>> sums_;  // by their place; null: compared
  std::map<std::uint64_t, std::shared_ptr<Sum>> open_;                         // by number
  std::uint64_t begun_ = 0;
};

}  // namespace ckpt
