#include "store/hdf5/known_skeletons.hpp"

#include <algorithm>
#include <utility>

#include "store/hdf5/skeleton.hpp"

namespace ckpt::hdf5 {

namespace {

/// Limits on what is kept: as many skeletons as a job has pipeline stages, whose files may alternate. A specification
/// takes about three times as much memory as its metadata. The last one is kept, however large it is.
constexpr std::size_t max_skeletons = 64;
constexpr std::uint64_t max_skeleton_bytes = 4U << 20;
/// Limit on skeletons of files that show others', which may need several that differ in room.
constexpr std::size_t max_view_skeletons = 16;

}  // namespace

std::shared_ptr<const NewFile> KnownSkeletons::get(const FileSpec& spec) {
  if (!spec.viewed.empty()) return showing(spec);
  if (auto file = find(spec)) return file;
  const std::lock_guard making(making_);
  if (auto file = find(spec)) return file;
  Skeleton skeleton{{}, std::make_shared<const NewFile>(make_file(spec).file)};
  skeleton.spec = spec;  // copied only now: values of variable length may make it large
  for (const Passage& passage : skeleton.file->passages) skeleton.bytes += passage.bytes.size();
  auto file = skeleton.file;
  remember(std::move(skeleton));
  return file;
}

std::shared_ptr<const NewFile> KnownSkeletons::find(const FileSpec& spec) {
  const std::lock_guard lock(mutex_);
  const auto place = std::find_if(skeletons_.begin(), skeletons_.end(),
                                  [&](const Skeleton& skeleton) { return skeleton.spec == spec; });
  if (place == skeletons_.end()) return nullptr;
  skeletons_.splice(skeletons_.begin(), skeletons_, place);
  return skeletons_.front().file;
}

void KnownSkeletons::remember(Skeleton skeleton) {
  const std::lock_guard lock(mutex_);
  bytes_ += skeleton.bytes;
  skeletons_.push_front(std::move(skeleton));
  while (skeletons_.size() > max_skeletons || (skeletons_.size() > 1 && bytes_ > max_skeleton_bytes)) {
    bytes_ -= skeletons_.back().bytes;
    skeletons_.pop_back();
  }
}

/// No two files show the same elements, but one skeleton has room for many files.
std::shared_ptr<const NewFile> KnownSkeletons::showing(const FileSpec& spec) {
  const auto find = [&]() -> std::shared_ptr<const NewFile> {
    const auto known = known_views();
    for (auto skeleton = known.rbegin(); skeleton != known.rend(); ++skeleton)
      if (auto file = (*skeleton)->filled(spec)) return file;
    return nullptr;
  };
  if (auto file = find()) return file;
  const std::lock_guard making(making_);
  if (auto file = find()) return file;
  auto skeleton = std::make_shared<const ViewSkeleton>(spec);
  const std::lock_guard lock(mutex_);
  if (views_.size() == max_view_skeletons || (!views_.empty() && views_.back()->bytes() > max_skeleton_bytes))
    views_.erase(views_.begin());
  views_.push_back(skeleton);
  return skeleton->filled(spec);
}

std::vector<std::shared_ptr<const ViewSkeleton>> KnownSkeletons::known_views() {
  const std::lock_guard lock(mutex_);
  return views_;
}

}  // namespace ckpt::hdf5
