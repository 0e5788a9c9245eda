#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/lru.hpp"
#include "io/posix_file.hpp"
#include "store/catalog.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// A cache of schemas of recently read files. Reading metadata may take 25 µs or more for each dataset, under one lock
/// (HDF5). If all data is raw, everything else lies outside the data: another file of the same size with the same bytes
/// there has the same schema. Threads may share a cache.
class KnownSchemas {
 public:
  /// Returns the schema of `file`, or null if no known one fits.
  std::shared_ptr<const Schema> find(const PosixFile& file, std::uint64_t file_bytes);

  /// Keeps what identifies `file`, unless that is too large, or the file has filtered data or arrays that cannot be
  /// read. `status`: taken before the schema was read. The bytes outside its data are read only when another file of
  /// its size is looked up.
  void remember(const PosixFile& file, const PosixFile::Status& status, std::shared_ptr<const Schema> schema);

  /// Changes whenever a schema is added.
  std::uint64_t version() const;

 private:
  class Reference;
  /// Limits on all entries together: as many as a job has pipeline stages, whose files may alternate.
  static constexpr std::size_t max_references = 64;
  static constexpr std::uint64_t max_schema_bytes = 16U << 20;

  mutable std::mutex mutex_;
  Lru<const Reference*, std::shared_ptr<Reference>> references_{max_references, max_schema_bytes};
  std::uint64_t version_ = 0;
};

}  // namespace ckpt
