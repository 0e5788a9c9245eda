#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "store/posix_file.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// Asks the system for a file's data before it is read, each part once: until all of the file has been asked for, then
/// anew, as the system may have dropped it. Threads may share one.
class ReadAhead {
 public:
  /// The file must live as long.
  ReadAhead(const PosixFile& file, std::uint64_t file_bytes) : file_(file), file_bytes_(file_bytes) {}

  /// These bytes of the file are wanted soon, and what lies around them up to the next multiples of `block` may be read
  /// with them: a disk prefers few long requests.
  void want(Interval bytes, std::uint64_t block);

 private:
  /// What of these bytes has not been asked for yet, which now counts as asked for.
  std::vector<Interval> take_new(Interval bytes);

  const PosixFile& file_;
  std::uint64_t file_bytes_;
  std::mutex mutex_;         // for what follows
  std::vector<bool> asked_;  // of each unit
  std::size_t left_ = 0;     // units not asked for
};

}  // namespace ckpt
