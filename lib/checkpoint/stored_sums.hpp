#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>

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

  /// `is_read_through`: whether the dataset of a transfer is read from its begin to its end, in one go. Other datasets
  /// are compared before they are read, as their sums would stay open.
  explicit StoredSums(std::function<bool(const Transfer&)> is_read_through);
  ~StoredSums();
  StoredSums(const StoredSums&) = delete;
  StoredSums& operator=(const StoredSums&) = delete;
  StoredSums(StoredSums&&) = delete;
  StoredSums& operator=(StoredSums&&) = delete;

  /// Returns the open sum of the dataset that this transfer reads. Returns null if there is nothing to add: the dataset
  /// has no sum, or it has been compared, if need be now (SourceFile::check).
  std::shared_ptr<Sum> of(SourceFile& file, FileNumber number, std::size_t dataset, const Transfer& transfer);

  /// Adds bytes of a dataset that were read; `offset` is that of the first one in the file. Throws input as
  /// SourceFile::check does, if they complete a sum that is another.
  void add(Sum& sum, SourceFile& file, std::uint64_t offset, std::span<const std::byte> bytes);

  /// Returns how many sums have been begun.
  std::uint64_t begun() const;
  /// Returns the lowest number of an open sum, or `begun()`: data read while `begun` was n is good once `compared` is
  /// at least n.
  std::uint64_t compared() const;

  /// Compares the sums of data that was not read to its end, by reading it once more.
  void finish(unsigned threads, const std::function<std::shared_ptr<SourceFile>(FileNumber)>& open);

 private:
  /// The file, the begin and end of what a sum is of, and the sum: a hostile index may have several of one place.
  using Key = std::tuple<FileNumber, std::uint64_t, std::uint64_t, std::uint32_t>;
  static Key key(FileNumber file, const StoredSum& stored);

  bool is_compared(const Key& key) const;
  void close(const Key& key);

  std::function<bool(const Transfer&)> is_read_through_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Sum>> sums_;            // null: compared
  std::map<std::uint64_t, std::shared_ptr<Sum>> open_;  // by number
  std::uint64_t begun_ = 0;
};

}  // namespace ckpt
