#include "store/paddle/text_input.hpp"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

namespace {

constexpr int gzip_window = 16 + MAX_WBITS;  // gzip's header and checksum, not zlib's

/// Inflates a file that comes piece by piece; gzip files that follow one another are one text, as for zcat.
class Inflater {
 public:
  explicit Inflater(std::size_t piece_bytes) : text_(piece_bytes, '\0') {
    if (inflateInit2(&stream_, gzip_window) != Z_OK) throw Error(Kind::io, "zlib", {"it cannot be started", "", ""});
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  Inflater(Inflater&&) = delete;
  Inflater& operator=(Inflater&&) = delete;

  /// Whether `take` wants more.
  bool feed(std::string& piece, const std::function<bool(std::string_view)>& take) {
    stream_.next_in = reinterpret_cast<Bytef*>(piece.data());
    stream_.avail_in = static_cast<uInt>(piece.size());
    bool is_full = true;  // there may be more text than there was room for
    while (stream_.avail_in > 0 || is_full) {
      if (is_between_) {
        if (stream_.avail_in == 0) return true;
        inflateReset(&stream_);
        is_between_ = false;
      }
      stream_.next_out = reinterpret_cast<Bytef*>(text_.data());
      stream_.avail_out = static_cast<uInt>(text_.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        throw Error(Kind::input, "",
                    {stream_.msg != nullptr ? std::string("gzip: ") + stream_.msg : "it is no gzip",
                     "expected a gzip file", "copy it again; a text that is not compressed has a name without .gz"});
      is_between_ = result == Z_STREAM_END;
      is_full = stream_.avail_out == 0;
      if (!take(std::string_view(text_).substr(0, text_.size() - stream_.avail_out))) return false;
    }
    return true;
  }

  void finish() const {
    if (!is_between_)
      throw Error(Kind::input, "",
                  {"the file ends within its compressed text", "expected a whole gzip file",
                   "it was cut off: save or copy it again"});
  }

 private:
  z_stream stream_{};
  std::string text_;
  bool is_between_ = false;  // one gzip file has ended, and no other has begun
};

void read_pieces(const PosixFile& file, std::uint64_t begin, std::uint64_t end, std::size_t piece_bytes,
                 const std::function<bool(std::string_view)>& take) {
  const auto inflater = is_gzip_name(file.path()) ? std::make_unique<Inflater>(piece_bytes) : nullptr;
  std::string piece;
  bool wants_more = true;
  for (std::uint64_t at = begin; at < end && wants_more; at += piece.size()) {
    check_interrupt();
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, end - at)));
    file.read(at, std::as_writable_bytes(std::span(piece)));
    with_file(file.path(), [&] { wants_more = inflater ? inflater->feed(piece, take) : take(piece); });
  }
  if (inflater && wants_more) with_file(file.path(), [&] { inflater->finish(); });
}

}  // namespace

bool is_gzip_name(std::string_view name) {
  return name.ends_with(".gz");
}

PosixFile::Status read_text(const std::filesystem::path& path, std::size_t piece_bytes,
                            const std::function<void(std::string_view)>& take) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const PosixFile::Status before = file.status();
  read_pieces(file, 0, before.bytes, piece_bytes, [&](std::string_view piece) {
    take(piece);
    return true;
  });
  const PosixFile::Status after = file.status();
  if (after.bytes != before.bytes || after.modified_ns != before.modified_ns)
    throw Error(Kind::input, path.string(), {"it changed while it was read", "", "is it still being written?"})
        .in_file(path.string());
  return before;
}

void read_text_from(const std::filesystem::path& path, std::uint64_t byte, std::size_t piece_bytes,
                    const std::function<bool(std::string_view)>& take) {
  const PosixFile file = PosixFile::open_for_reading(path);
  read_pieces(file, byte, file.status().bytes, piece_bytes, take);
}

}  // namespace ckpt
