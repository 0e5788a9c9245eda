#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "store/hdf5/skeleton.hpp"

namespace ckpt::hdf5 {

/// Makes new files; those whose specification equals a recent one without HDF5, by copying its metadata bytes. May be
/// used from several threads at once.
class KnownSkeletons {
 public:
  FileRoom create(const std::filesystem::path& path, const FileSpec& spec);
  /// Store::create_again: a file of the right size keeps its data.
  FileRoom create_again(const std::filesystem::path& path, const FileSpec& spec, bool& is_kept);

 private:
  struct Skeleton {
    FileSpec spec;
    NewFile file;
  };

  std::shared_ptr<const Skeleton> get(const std::filesystem::path& path, const FileSpec& spec);
  std::shared_ptr<const Skeleton> find(const FileSpec& spec);
  void remember(std::shared_ptr<const Skeleton> skeleton);

  std::mutex mutex_;                                      ///< for what follows
  std::list<std::shared_ptr<const Skeleton>> skeletons_;  ///< the last used first
  std::uint64_t bytes_ = 0;                               ///< of all their metadata
  /// So that threads with equal specifications wait for the first instead of doing its work.
  std::mutex making_;
};

}  // namespace ckpt::hdf5
