#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "store/posix_file.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// Schemas of files read recently, to be found again without reading their metadata, which may take 25 µs and more
/// for each dataset under one lock (HDF5). Where all data is raw, everything else that a file says stands outside the
/// data: another file of the same size and the same bytes there has the same schema. May be used from several threads
/// at once.
class KnownSchemas {
 public:
  /// The schema of `file`, or null where none known fits.
  std::shared_ptr<const Schema> find(const PosixFile& file, std::uint64_t file_bytes);

  /// Keeps what identifies `file`, unless that is too much, or some of its data is not raw. `status`: as it was before
  /// the schema was read. What stands outside its data is read when another file of its size is looked for.
  void remember(const PosixFile& file, const PosixFile::Status& status, std::shared_ptr<const Schema> schema);

  /// Changes whenever something new is known.
  std::uint64_t version() const;

 private:
  class Reference;

  mutable std::mutex mutex_;
  std::list<std::shared_ptr<Reference>> references_;  ///< the last used first
  std::uint64_t bytes_ = 0;                           ///< of all references
  std::uint64_t version_ = 0;
};

}  // namespace ckpt
