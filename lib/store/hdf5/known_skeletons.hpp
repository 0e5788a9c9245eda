#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "store/hdf5/view_skeleton.hpp"

namespace ckpt::hdf5 {

/// New files without their data. A file whose specification equals a recent one is made without HDF5. Threads may share
/// an object.
class KnownSkeletons {
 public:
  std::shared_ptr<const NewFile> get(const FileSpec& spec);

 private:
  struct Skeleton {
    FileSpec spec;
    std::shared_ptr<const NewFile> file;
    std::uint64_t bytes = 0;  ///< size of its passages
  };

  std::shared_ptr<const NewFile> find(const FileSpec& spec);
  void remember(Skeleton skeleton);
  std::shared_ptr<const NewFile> showing(const FileSpec& spec);
  std::vector<std::shared_ptr<const ViewSkeleton>> known_views();

  std::mutex mutex_;                                        ///< guards the members below
  std::list<Skeleton> skeletons_;                           ///< most recently used first
  std::uint64_t bytes_ = 0;                                 ///< size of all their passages
  std::vector<std::shared_ptr<const ViewSkeleton>> views_;  ///< newest last
  /// Makes threads with equal specifications wait for the first instead of repeating its work.
  std::mutex making_;
};

}  // namespace ckpt::hdf5
