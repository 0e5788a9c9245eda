#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "io/posix_file.hpp"
#include "store/zip/zip_directory.hpp"

namespace ckpt::torch {

/// A compressed entry of a zip archive, inflated while it is read. Reading on from where an earlier read ended costs
/// only what is read; reading anything before that inflates the entry from its start. Threads may share an object.
class DeflatedData {
 public:
  /// Both must outlive it.
  DeflatedData(const PosixFile& file, ZipEntry entry);
  ~DeflatedData();
  DeflatedData(const DeflatedData&) = delete;
  DeflatedData& operator=(const DeflatedData&) = delete;
  DeflatedData(DeflatedData&&) = delete;
  DeflatedData& operator=(DeflatedData&&) = delete;

  /// Reads bytes of the inflated entry. Throws input if it is damaged, has fewer bytes than the directory says, or
  /// differs from its checksum, as far as it was read.
  void read(std::uint64_t offset, std::span<std::byte> out);

 private:
  class Stream;

  const PosixFile& file_;
  ZipEntry entry_;
  std::mutex mutex_;
  std::list<std::unique_ptr<Stream>> streams_;  // the one used last first
};

}  // namespace ckpt::torch
