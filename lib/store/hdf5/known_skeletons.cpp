#include "store/hdf5/known_skeletons.hpp"

#include <algorithm>
#include <span>

#include "store/outside_data.hpp"
#include "store/posix_file.hpp"

namespace ckpt::hdf5 {

namespace {

/// Kept at most: as many as a job has pipeline stages, whose files may come in turn. Their specifications take about
/// three times as much as their metadata. The last one is kept however large it is.
constexpr std::size_t max_skeletons = 64;
constexpr std::uint64_t max_skeleton_bytes = 4U << 20;

void write_metadata(const PosixFile& file, const NewFile& made) {
  const std::span<const std::byte> bytes(made.metadata);
  file.write(0, bytes.first(made.data.lo));
  file.write(made.data.hi, bytes.subspan(made.data.lo));
}

}  // namespace

FileRoom KnownSkeletons::create(const std::filesystem::path& path, const FileSpec& spec) {
  const auto skeleton = get(path, spec);
  write_metadata(PosixFile::create(path), skeleton->file);
  return skeleton->file.room;
}

FileRoom KnownSkeletons::create_again(const std::filesystem::path& path, const FileSpec& spec, bool& is_kept) {
  is_kept = false;
  if (!std::filesystem::exists(path)) return create(path, spec);
  const auto skeleton = get(path, spec);
  const FileRoom& room = skeleton->file.room;
  const PosixFile file = PosixFile::open_for_writing(path);
  if (file.status().bytes != room.bytes) return create(path, spec);
  write_metadata(file, skeleton->file);
  // What lies between the arrays is zeros, unless somebody has been at it.
  if (!(sum_outside(file, room.bytes, written_later(room)) == room.metadata)) return create(path, spec);
  is_kept = true;
  return room;
}

std::shared_ptr<const KnownSkeletons::Skeleton> KnownSkeletons::get(const std::filesystem::path& path,
                                                                    const FileSpec& spec) {
  if (auto skeleton = find(spec)) return skeleton;
  const std::lock_guard making(making_);
  if (auto skeleton = find(spec)) return skeleton;
  auto skeleton = std::make_shared<const Skeleton>(Skeleton{spec, make_file(path, spec)});
  remember(skeleton);
  return skeleton;
}

std::shared_ptr<const KnownSkeletons::Skeleton> KnownSkeletons::find(const FileSpec& spec) {
  const std::lock_guard lock(mutex_);
  const auto place =
      std::find_if(skeletons_.begin(), skeletons_.end(), [&](const auto& skeleton) { return skeleton->spec == spec; });
  if (place == skeletons_.end()) return nullptr;
  skeletons_.splice(skeletons_.begin(), skeletons_, place);
  return skeletons_.front();
}

void KnownSkeletons::remember(std::shared_ptr<const Skeleton> skeleton) {
  const std::lock_guard lock(mutex_);
  bytes_ += skeleton->file.metadata.size();
  skeletons_.push_front(std::move(skeleton));
  while (skeletons_.size() > max_skeletons || (skeletons_.size() > 1 && bytes_ > max_skeleton_bytes)) {
    bytes_ -= skeletons_.back()->file.metadata.size();
    skeletons_.pop_back();
  }
}

}  // namespace ckpt::hdf5
