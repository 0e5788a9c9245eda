#include "io/file_extents.hpp"

#include "base/checked.hpp"

namespace ckpt {

FileExtents::FileExtents(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  checked_add(offset, bytes, "the end of its data");
  offset_ = offset;
  bytes_ = bytes;
}

FileExtents::FileExtents(const std::vector<Interval>& in_file) {
  std::vector<FileExtent> extents;
  for (const Interval& interval : in_file) {
    if (interval.empty()) continue;
    if (!extents.empty() && extents.back().offset + extents.back().bytes == interval.lo)
      extents.back().bytes += interval.size();
    else
      extents.push_back({bytes_, interval.lo, interval.size()});
    bytes_ = checked_add(bytes_, interval.size(), "a dataset's number of bytes");
  }
  if (extents.empty()) return;
  offset_ = extents.front().offset;
  if (extents.size() > 1) several_ = std::make_shared<const std::vector<FileExtent>>(std::move(extents));
}

FileExtent FileExtents::at(std::uint64_t byte) const noexcept {
  if (!several_) return {0, offset_, bytes_};
  const auto after = std::upper_bound(several_->begin(), several_->end(), byte,
                                      [](std::uint64_t at, const FileExtent& extent) { return at < extent.start; });
  return *std::prev(after);
}

void FileExtents::append_to(std::vector<Interval>& intervals) const {
  for_each_part({0, bytes_}, [&](std::uint64_t offset, Interval part) {
    intervals.push_back({offset, offset + part.size()});
  });
}

bool operator==(const FileExtents& a, const FileExtents& b) noexcept {
  if (a.offset_ != b.offset_ || a.bytes_ != b.bytes_ || (a.several_ == nullptr) != (b.several_ == nullptr))
    return false;
  return !a.several_ || *a.several_ == *b.several_;
}

}  // namespace ckpt
