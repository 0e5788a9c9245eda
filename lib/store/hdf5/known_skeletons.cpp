#include "store/hdf5/known_skeletons.hpp"

#include <algorithm>
#include <utility>

namespace ckpt::hdf5 {

namespace {

/// Kept at most: as many as a job has pipeline stages, whose files may come in turn. Their specifications take about
/// three times as much as their metadata. The last one is kept however large it is.
constexpr std::size_t max_skeletons = 64;
constexpr std::uint64_t max_skeleton_bytes = 4U << 20;

}  // namespace

std::shared_ptr<const NewFile> KnownSkeletons::get(const FileSpec& spec) {
  if (!spec.viewed.empty()) return std::make_shared<const NewFile>(make_file(spec));  // no two show the same
  if (auto file = find(spec)) return file;
  const std::lock_guard making(making_);
  if (auto file = find(spec)) return file;
  Skeleton skeleton{spec, std::make_shared<const NewFile>(make_file(spec))};
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

}  // namespace ckpt::hdf5
