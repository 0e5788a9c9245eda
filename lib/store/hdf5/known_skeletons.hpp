#pragma once

#include <memory>
#include <mutex>

#include "base/lru.hpp"
#include "store/hdf5/view_skeleton.hpp"

namespace ckpt::hdf5 {

/// New files without their data. A file whose specification equals a recent one is made without HDF5. Threads may share
/// an object.
class KnownSkeletons {
 public:
  /// `text_bytes`: most_text_bytes.
  explicit KnownSkeletons(std::uint64_t text_bytes) : text_bytes_(text_bytes) {}
  std::shared_ptr<const NewFile> get(const FileSpec& spec);

 private:
  /// Limits on what is kept: as many skeletons as a job has pipeline stages, whose files may alternate. A specification
  /// takes about three times as much memory as its metadata. The last one is kept, however large it is.
  static constexpr std::size_t max_skeletons = 64;
  static constexpr std::uint64_t max_bytes = 4U << 20;

  /// Comparing the few specifications that are kept costs less than hashing one: mostly the first bytes differ.
  struct Hash {
    std::size_t operator()(const FileSpec& spec) const noexcept { return spec.arrays.size(); }
  };

  std::shared_ptr<const NewFile> find(const FileSpec& spec);
  std::shared_ptr<const NewFile> showing(const FileSpec& spec);
  std::vector<std::shared_ptr<const ViewSkeleton>> known_views();

  std::uint64_t text_bytes_;
  std::mutex mutex_;  ///< guards the members below
  Lru<FileSpec, std::shared_ptr<const NewFile>, Hash> skeletons_{max_skeletons, max_bytes};  ///< cost: their passages
  std::vector<std::shared_ptr<const ViewSkeleton>> views_;                                   ///< newest last
  /// Makes threads with equal specifications wait for the first instead of repeating its work.
  std::mutex making_;
};

}  // namespace ckpt::hdf5
