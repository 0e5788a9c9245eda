#include "store/hdf5/known_skeletons.hpp"

#include <utility>

#include "store/hdf5/skeleton.hpp"

namespace ckpt::hdf5 {

namespace {

/// Limit on skeletons of files that show others', which may need several that differ in room.
constexpr std::size_t max_view_skeletons = 16;

}  // namespace

std::shared_ptr<const NewFile> KnownSkeletons::get(const FileSpec& spec) {
  if (!spec.viewed.empty()) return showing(spec);
  if (auto file = find(spec)) return file;
  const std::lock_guard making(making_);
  if (auto file = find(spec)) return file;
  auto file = std::make_shared<const NewFile>(make_file(spec, text_bytes_).file);
  std::uint64_t bytes = 0;
  for (const FileSegment& segment : file->segments) bytes += segment.bytes.size();
  FileSpec known = spec;  // before the lock: values of variable length may make it large
  const std::lock_guard lock(mutex_);
  return skeletons_.insert(std::move(known), std::move(file), bytes);
}

std::shared_ptr<const NewFile> KnownSkeletons::find(const FileSpec& spec) {
  const std::lock_guard lock(mutex_);
  const auto* const file = skeletons_.find(spec);
  return file == nullptr ? nullptr : *file;
}

/// No two files show the same elements, but one skeleton has room for many files.
std::shared_ptr<const NewFile> KnownSkeletons::showing(const FileSpec& spec) {
  const auto find = [&]() -> std::shared_ptr<const NewFile> {
    const auto known = known_views();
    for (std::size_t i = known.size(); i-- > 0;)  // the newest first
      if (auto file = known[i]->filled(spec)) return file;
    return nullptr;
  };
  if (auto file = find()) return file;
  const std::lock_guard making(making_);
  if (auto file = find()) return file;
  auto skeleton = std::make_shared<const ViewSkeleton>(spec);
  const std::lock_guard lock(mutex_);
  if (views_.size() == max_view_skeletons || (!views_.empty() && views_.back()->bytes() > max_bytes))
    views_.erase(views_.begin());
  views_.push_back(skeleton);
  return skeleton->filled(spec);
}

std::vector<std::shared_ptr<const ViewSkeleton>> KnownSkeletons::known_views() {
  const std::lock_guard lock(mutex_);
  return views_;
}

}  // namespace ckpt::hdf5
