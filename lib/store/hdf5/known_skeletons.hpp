#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "store/hdf5/skeleton.hpp"

namespace ckpt::hdf5 {

/// Makes new files, and those of a specification made lately without HDF5: by copying their metadata bytes, which are
/// the same. May be used from several threads at once.
class KnownSkeletons {
 public:
  FileRoom create(const std::filesystem::path& path, const FileSpec& spec);
  /// Store::create_again: the data of a file of the right size is kept where its metadata can be written by itself.
  FileRoom create_again(const std::filesystem::path& path, const FileSpec& spec, bool& is_kept);

 private:
  struct Skeleton {
    FileSpec spec;
    FileRoom room;
    std::vector<std::byte> metadata;  ///< the file's first bytes: the rest is room
  };

  struct Made {
    FileRoom room;
    std::shared_ptr<const Skeleton> skeleton;
  };

  std::shared_ptr<const Skeleton> find(const FileSpec& spec);
  /// Makes the file; gives its skeleton, too, if it can be kept.
  Made make(const std::filesystem::path& path, const FileSpec& spec);
  Made make_new(const std::filesystem::path& path, const FileSpec& spec);

  std::mutex mutex_;                                      ///< for what follows
  std::list<std::shared_ptr<const Skeleton>> skeletons_;  ///< the last used first
  std::uint64_t bytes_ = 0;                               ///< of all their metadata
  /// So that threads with equal specifications wait for the first instead of doing its work.
  std::mutex making_;
};

}  // namespace ckpt::hdf5
