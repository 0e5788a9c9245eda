#include "store/zip/deflated_data.hpp"

#include <zlib.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "io/crc.hpp"

namespace ckpt::torch {

namespace {

constexpr std::size_t packed_window_bytes = 64U << 10;
/// As many readers of one entry go on independently: each takes some 110 KiB.
constexpr std::size_t most_streams = 4;

}  // namespace

/// Inflates an entry from its start on.
class DeflatedData::Stream {
 public:
  Stream(const PosixFile& file, const ZipEntry& entry) : file_(file), entry_(entry), next_(entry.place.lo) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw Error(Kind::io, "zlib", {"it cannot be started", "", ""});
  }
  ~Stream() { inflateEnd(&stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  Stream(Stream&&) = delete;
  Stream& operator=(Stream&&) = delete;

  std::uint64_t at() const noexcept { return at_; }

  void skip_to(std::uint64_t offset) {
    std::string skipped(std::min<std::uint64_t>(offset - at_, packed_window_bytes), '\0');
    while (at_ < offset)
      read(std::as_writable_bytes(std::span(skipped)).first(std::min<std::uint64_t>(offset - at_, skipped.size())));
  }

  void read(std::span<std::byte> out) {
    const auto all = out;
    while (!out.empty()) {
      if (stream_.avail_in == 0) fill();
      const auto room = static_cast<uInt>(std::min<std::size_t>(out.size(), 1U << 30));
      stream_.next_out = reinterpret_cast<Bytef*>(out.data());
      stream_.avail_out = room;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      out = out.subspan(room - stream_.avail_out);
      if (result == Z_STREAM_END && out.empty()) break;
      if (result != Z_OK)
        throw Error(Kind::input, entry_.name,
                    {"its compressed bytes are damaged", std::to_string(*entry_.inflated_bytes) + " bytes in them",
                     "take another copy of the file"});
    }
    at_ += all.size();
    crc_ = crc32.of(all, crc_);
    if (at_ == *entry_.inflated_bytes) crc32.check(crc_, entry_.crc, entry_.name);
  }

 private:
  void fill() {
    window_.resize(std::min<std::uint64_t>(entry_.place.hi - next_, packed_window_bytes));
    file_.read(next_, std::as_writable_bytes(std::span(window_)));
    next_ += window_.size();
    stream_.next_in = reinterpret_cast<Bytef*>(window_.data());
    stream_.avail_in = static_cast<uInt>(window_.size());
  }

  const PosixFile& file_;
  const ZipEntry& entry_;
  z_stream stream_{};
  std::string window_;
  std::uint64_t next_;
  std::uint64_t at_ = 0;
  std::uint32_t crc_ = 0;
};

DeflatedData::DeflatedData(const PosixFile& file, ZipEntry entry) : file_(file), entry_(std::move(entry)) {}

DeflatedData::~DeflatedData() = default;

void DeflatedData::read(std::uint64_t offset, std::span<std::byte> out) {
  if (offset > *entry_.inflated_bytes || out.size() > *entry_.inflated_bytes - offset)
    throw Error(Kind::input, entry_.name,
                {std::to_string(*entry_.inflated_bytes) + " bytes",
                 std::to_string(out.size()) + " from byte " + std::to_string(offset) + " on", "is the file damaged?"});
  std::unique_ptr<Stream> stream;
  {
    const std::lock_guard lock(mutex_);
    auto best = streams_.end();
    for (auto each = streams_.begin(); each != streams_.end(); ++each)
      if ((*each)->at() <= offset && (best == streams_.end() || (*each)->at() > (*best)->at())) best = each;
    if (best != streams_.end()) {
      stream = std::move(*best);
      streams_.erase(best);
    }
  }
  if (!stream) stream = std::make_unique<Stream>(file_, entry_);
  stream->skip_to(offset);
  stream->read(out);
  const std::lock_guard lock(mutex_);
  streams_.push_front(std::move(stream));
  if (streams_.size() > most_streams) streams_.pop_back();
}

}  // namespace ckpt::torch
