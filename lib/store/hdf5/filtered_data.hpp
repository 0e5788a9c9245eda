#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "base/lru.hpp"
#include "io/decoded_chunks.hpp"
#include "io/posix_file.hpp"
#include "store/catalog.hpp"
#include "store/hdf5/chunk_form.hpp"
#include "tensor/box.hpp"

namespace ckpt::hdf5 {

/// A file's data that it does not store byte for byte: chunked, compressed, compact or never written. Chunks are
/// decoded whole, into `chunks`; datasets without chunks are read part by part. Threads may share an object.
class FilteredData {
 public:
  /// `file` must outlive this.
  FilteredData(const PosixFile& file, std::uint64_t file_bytes, std::shared_ptr<const Schema> schema,
               std::shared_ptr<DecodedChunks> chunks);
  ~FilteredData();
  FilteredData(const FilteredData&) = delete;
  FilteredData& operator=(const FilteredData&) = delete;

  /// Reads like SourceFile::read; `elements` of the dataset. Errors name neither file nor dataset.
  void read(std::size_t index, Interval elements, std::span<std::byte> out);

 private:
  struct Key;
  struct Open;
  static Lru<Key, Open>& all_open();
  const Open& opened(const Lock& lock, std::size_t index);
  std::shared_ptr<const ChunkForm> form_of(std::size_t index);
  void read_in_place(std::size_t index, Interval elements, std::span<std::byte> out);
  void decode(std::size_t index, const ChunkForm& form, const Shape& place, std::span<std::byte> out);
  void check_whole() const;

  const PosixFile& file_;
  PosixFile::Status status_;
  std::uint64_t file_bytes_;
  std::shared_ptr<const Schema> schema_;
  std::shared_ptr<DecodedChunks> chunks_;
  FileId hdf5_;  // only under the Lock
  std::mutex mutex_;
  std::unordered_map<std::size_t, std::shared_ptr<const ChunkForm>> forms_;
};

}  // namespace ckpt::hdf5
