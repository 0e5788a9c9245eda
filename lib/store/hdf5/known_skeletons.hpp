#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "store/hdf5/view_skeleton.hpp"

namespace ckpt::hdf5 {

/// New files without their data; those whose specification equals a recent one are made without HDF5. May be used from
/// several threads at once.
class KnownSkeletons {
 public:
  std::shared_ptr<const NewFile> get(const FileSpec& spec);

 private:
  struct Skeleton {
    FileSpec spec;
    std::shared_ptr<const NewFile> file;
    std::uint64_t bytes = 0;  ///< of its passages
  };

  std::shared_ptr<const NewFile> find(const FileSpec& spec);
  void remember(Skeleton skeleton);
  std::shared_ptr<const NewFile> showing(const FileSpec& spec);
  std::vector<std::shared_ptr<const ViewSkeleton>> known_views();

  std::mutex mutex_;                                        ///< for what follows
  std::list<Skeleton> skeletons_;                           ///< the last used first
  std::uint64_t bytes_ = 0;                                 ///< of all their passages
  std::vector<std::shared_ptr<const ViewSkeleton>> views_;  ///< the newest last
  /// So that threads with equal specifications wait for the first instead of doing its work.
  std::mutex making_;
};

}  // namespace ckpt::hdf5
