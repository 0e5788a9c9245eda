#include "store/hdf5/known_skeletons.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "store/outside_data.hpp"
#include "store/posix_file.hpp"

namespace ckpt::hdf5 {

namespace {

/// Kept at most: as many as a job has pipeline stages, whose files may come in turn. Their specifications take about
/// three times as much as their metadata.
constexpr std::size_t max_skeletons = 64;
constexpr std::uint64_t max_skeleton_bytes = 4U << 20;
/// The last one is kept even when it is larger than all may be, up to this.
constexpr std::uint64_t max_bytes_of_one = 16U << 20;

/// Equal in every byte that is written: DType's own comparison leaves out the encoding.
bool same(const FileSpec& a, const FileSpec& b) {
  const auto same_encoding = [](const FileSpec::Array& x, const FileSpec::Array& y) {
    return x.dtype.encoded == y.dtype.encoded;
  };
  return a == b && std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end(), same_encoding);
}

/// Whether nothing but padding stands behind the metadata, so that its first bytes and its size make the whole file:
/// each array lies where the one before it ends, rounded up, and the file ends with the last.
bool is_packed(const FileSpec& spec, const NewFile& made) {
  std::uint64_t end = made.metadata_bytes;
  for (std::size_t i = 0; i < spec.arrays.size(); ++i) {
    if (!has_room(spec.arrays[i])) continue;
    if (made.room.offsets[i] != round_up(end, data_alignment)) return false;
    end = made.room.offsets[i] + volume(spec.arrays[i].shape) * spec.arrays[i].dtype.size;
  }
  return made.room.bytes == end;
}

/// Where the data of the arrays lies in the file.
std::vector<Interval> data_of(const FileSpec& spec, const FileRoom& room) {
  std::vector<Interval> data;
  for (std::size_t i = 0; i < spec.arrays.size(); ++i)
    if (has_room(spec.arrays[i]))
      data.push_back({room.offsets[i], room.offsets[i] + volume(spec.arrays[i].shape) * spec.arrays[i].dtype.size});
  return data;
}

}  // namespace

FileRoom KnownSkeletons::create(const std::filesystem::path& path, const FileSpec& spec) {
  return make(path, spec).room;
}

KnownSkeletons::Made KnownSkeletons::make(const std::filesystem::path& path, const FileSpec& spec) {
  auto skeleton = find(spec);
  if (!skeleton) {
    const std::lock_guard making(making_);
    skeleton = find(spec);
    if (!skeleton) return make_new(path, spec);
  }
  const PosixFile file = PosixFile::create(path);
  file.write(0, skeleton->metadata);
  file.resize(skeleton->room.bytes);
  return {skeleton->room, skeleton};
}

FileRoom KnownSkeletons::create_again(const std::filesystem::path& path, const FileSpec& spec, bool& is_kept) {
  is_kept = false;
  const std::filesystem::path trial = path.string() + trial_suffix;
  std::filesystem::remove(trial);  // of a run that was killed while it resumed
  if (!std::filesystem::exists(path)) return create(path, spec);
  auto skeleton = find(spec);
  if (!skeleton) {
    skeleton = make(trial, spec).skeleton;
    std::filesystem::remove(trial);
  }
  const PosixFile file = PosixFile::open_for_writing(path);
  if (!skeleton || file.status().bytes != skeleton->room.bytes) return create(path, spec);
  file.write(0, skeleton->metadata);
  // What lies between the arrays is zeros, unless somebody has been at it.
  if (!(sum_outside(file, skeleton->room.bytes, data_of(spec, skeleton->room)) == skeleton->room.metadata))
    return create(path, spec);
  is_kept = true;
  return skeleton->room;
}

std::shared_ptr<const KnownSkeletons::Skeleton> KnownSkeletons::find(const FileSpec& spec) {
  const std::lock_guard lock(mutex_);
  const auto place = std::find_if(skeletons_.begin(), skeletons_.end(),
                                  [&](const auto& skeleton) { return same(skeleton->spec, spec); });
  if (place == skeletons_.end()) return nullptr;
  skeletons_.splice(skeletons_.begin(), skeletons_, place);
  return skeletons_.front();
}

KnownSkeletons::Made KnownSkeletons::make_new(const std::filesystem::path& path, const FileSpec& spec) {
  NewFile made = make_file(path, spec);
  made.room.metadata = sum_outside(PosixFile::open_for_reading(path), made.room.bytes, data_of(spec, made.room));
  if (made.metadata_bytes > max_bytes_of_one || !is_packed(spec, made)) return {std::move(made.room), nullptr};
  auto skeleton = std::make_shared<Skeleton>(Skeleton{spec, made.room, std::vector<std::byte>(made.metadata_bytes)});
  PosixFile::open_for_reading(path).read(0, skeleton->metadata);

  const std::lock_guard lock(mutex_);
  skeletons_.push_front(skeleton);
  bytes_ += made.metadata_bytes;
  while (skeletons_.size() > max_skeletons || (skeletons_.size() > 1 && bytes_ > max_skeleton_bytes)) {
    bytes_ -= skeletons_.back()->metadata.size();
    skeletons_.pop_back();
  }
  return {std::move(made.room), std::move(skeleton)};
}

}  // namespace ckpt::hdf5
