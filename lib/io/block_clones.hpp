#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>

#include "io/located_file.hpp"
#include "io/posix_file.hpp"
#include "tensor/alignment.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// Whether the output shares blocks with its source where their file system can.
enum class Reflink : std::uint8_t { automatic, off };

/// Returns whether files in this directory may be able to share blocks: XFS and Btrfs. There a clone first writes what
/// programs have changed in mapped pages, and changes after it show in the file's time. Others are not known to: on NFS
/// the server clones what it has, while reads and times come from a cache.
bool may_share_blocks(const std::filesystem::path& directory) noexcept;

/// Puts data into new files by sharing the blocks that other files have it in (FICLONERANGE), where a file system can:
/// nothing is copied, and whichever file is written to later gets blocks of its own. Several threads may use one.
class BlockClones {
 public:
  /// Files share whole blocks, so that places on both sides must have the same offset in theirs. File systems with
  /// larger blocks refuse.
  static constexpr std::uint64_t block = data_block;
  /// A call takes 10 to 15 µs whatever the length, and shorter runs would leave files in many pieces.
  static constexpr std::uint64_t least_run = 64ULL << 10;

  /// A file to be filled, opened a second time.
  class Target {
   public:
    /// Opens the file. Throws io.
    explicit Target(const std::filesystem::path& path);

   private:
    friend class BlockClones;
    Fd file_;
  };

  /// Returns the whole blocks of a run at `place` in a file to be written that could be those of the bytes at `offset`
  /// in the source; empty if there are none, or too few.
  static Interval whole_blocks(std::uint64_t offset, std::uint64_t place, std::uint64_t bytes) noexcept;

  /// Lets the target share the whole blocks of a run of `bytes` bytes, at `offset` in `source`. Returns which bytes of
  /// the target this makes, from `place` on; empty if none. The system has then written what another program changed
  /// in the source's pages before, and notes any later change in its time of modification.
  Interval clone(const LocatedFile& source, std::uint64_t offset, const Target& target, std::uint64_t place,
                 std::uint64_t bytes);

 private:
  bool is_refused(std::uint64_t device);
  void refuse(const LocatedFile& source, int error);

  std::mutex mutex_;
  std::set<std::uint64_t> refused_;  // devices of sources
};

}  // namespace ckpt
