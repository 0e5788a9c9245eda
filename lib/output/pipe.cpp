#include "output/pipe.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/interrupt.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_small = 64U << 10;
constexpr std::array<std::byte, 4096> zeros{};

}  // namespace

void Pipe::begin(const NewFile& file) {
  for (const FileExtents& extents : file.room.data) {
    std::vector<Interval> parts;
    extents.append_to(parts);
    if (!std::is_sorted(parts.begin(), parts.end(), [](Interval a, Interval b) { return a.lo < b.lo; }))
      throw Error(Kind::input, name(),
                  {"an array's parts lie in another order in the file", "their own", "write to a file"});
    data_.insert(data_.end(), parts.begin(), parts.end());
  }
  std::sort(data_.begin(), data_.end(), [](Interval a, Interval b) { return a.lo < b.lo; });
  if (std::adjacent_find(data_.begin(), data_.end(), [](Interval a, Interval b) { return b.lo < a.hi; }) != data_.end())
    throw Error(Kind::input, name(), {"two arrays are one in the file", "each by itself", "write to a file"});
  segments_ = file.segments;
  bytes_ = file.room.bytes;
}

void Pipe::set(std::uint64_t offset, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = past_segments_; i < segments_.size(); ++i) {
    FileSegment& segment = segments_[i];
    if (offset < segment.offset || offset - segment.offset + bytes.size() > segment.bytes.size()) continue;
    segment.bytes.replace(offset - segment.offset, bytes.size(), bytes);
    return;
  }
  throw Error(Kind::io, name(), {"a passage that is written already", "", "this is a defect of the program"});
}

/// The place of the first byte of data that is still missing.
std::uint64_t Pipe::next_data() const {
  return past_data_ == data_.size() ? bytes_ : std::max(at_, data_[past_data_].lo);
}

void Pipe::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  std::unique_lock lock(mutex_);
  turn_.wait(lock, [&] { return is_stopped_ || next_data() == offset; });
  if (is_stopped_) std::rethrow_exception(why_);
  fill(offset);
  put(bytes);
  while (past_data_ < data_.size() && data_[past_data_].hi <= at_) ++past_data_;
  turn_.notify_all();
}

void Pipe::stop(std::exception_ptr why) noexcept {
  {
    const std::lock_guard lock(stopping_);  // not mutex_: a `send` that waits for the reader holds that
    if (!is_stopped_) why_ = std::move(why);
    is_stopped_ = true;
  }
  const std::lock_guard lock(mutex_);
  turn_.notify_all();
}

void Pipe::finish(bool sync) {
  for (; past_data_ < data_.size(); ++past_data_)
    if (data_[past_data_].hi > at_)
      throw Error(Kind::io, name(),
                  {"data that begins at byte " + std::to_string(data_[past_data_].lo) + " was never brought",
                   "all of it", "this is a defect of the program"});
  fill(bytes_);
  send(std::exchange(small_, {}));
  if (sync) stream_.sync();
}

/// Writes the bytes up to `to` that are not data.
void Pipe::fill(std::uint64_t to) {
  while (at_ < to) {
    if (past_segments_ < segments_.size() && segments_[past_segments_].offset == at_) {
      put(std::as_bytes(std::span(segments_[past_segments_++].bytes)));
      continue;
    }
    const std::uint64_t next = past_segments_ < segments_.size() ? segments_[past_segments_].offset : to;
    put(std::span(zeros).first(std::min<std::uint64_t>(zeros.size(), std::min(next, to) - at_)));
  }
}

/// Joins small pieces into one write. Holds back the file's last byte.
void Pipe::put(std::span<const std::byte> bytes) {
  at_ += bytes.size();
  if (small_.size() + bytes.size() > most_small) {
    send(small_);
    small_.clear();
    if (bytes.size() > most_small) {
      const std::size_t now = bytes.size() - (at_ == bytes_ ? 1 : 0);
      send(bytes.first(now));
      bytes = bytes.subspan(now);
    }
  }
  small_.insert(small_.end(), bytes.begin(), bytes.end());
}

void Pipe::send(std::span<const std::byte> bytes) {
  stream_.write(bytes, [this] {
    check_interrupt();
    if (is_stopped_) std::rethrow_exception(why_);
  });
}

}  // namespace ckpt
