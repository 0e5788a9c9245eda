#include "tables/paddle/text_output.hpp"

#include <zlib.h>

#include <span>

#include "base/error.hpp"
#include "store/paddle/inflater.hpp"
#include "store/paddle/line_cutter.hpp"
#include "store/paddle/text_input.hpp"
#include "tables/paddle/line_sums.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t deflate_bytes = 300ULL << 10;  // zlib's state at its default level
constexpr std::uint64_t inflated_at_once = 64ULL << 10;
constexpr int gzip_output = 16 + MAX_WBITS;  // gzip's header and checksum, not zlib's
constexpr int gzip_memory = 8;               // zlib's default
constexpr std::size_t line_of_cache = 64;

}  // namespace

/// Inflates its own output again, and sums the lines: so the sum is of the lines as any reader will get them.
class TextOutput::Deflater {
 public:
  explicit Deflater(std::size_t piece_bytes) : piece_(piece_bytes, '\0'), inflater_(inflated_at_once) {
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_output, gzip_memory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw Error(Kind::io, "zlib", {"it cannot be started", "", ""});
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  Deflater(Deflater&&) = delete;
  Deflater& operator=(Deflater&&) = delete;

  template <class Write>
  void feed(std::string& text, bool is_end, const Write& write) {
    stream_.next_in = reinterpret_cast<Bytef*>(text.data());
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
      stream_.avail_out = static_cast<uInt>(piece_.size());
      if (deflate(&stream_, is_end ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
        throw Error(Kind::io, "zlib", {"it does not compress", "", ""});
      const auto compressed = std::string_view(piece_).substr(0, piece_.size() - stream_.avail_out);
      sum(compressed);
      write(compressed);
    } while (stream_.avail_out == 0);
    if (is_end) inflater_.finish();
  }

  const PartialSum& lines() const noexcept { return lines_; }

 private:
  void sum(std::string_view compressed) {
    for (std::string_view text = inflater_.next(compressed); !text.empty(); text = inflater_.next(compressed))
      cutter_.feed(text, [&](std::string_view line) {
        add_line(line, lines_);
        return true;
      });
  }

  z_stream stream_{};
  std::string piece_;
  Inflater inflater_;
  LineCutter cutter_;
  PartialSum lines_;
};

TextOutput::TextOutput(const std::filesystem::path& file, std::size_t buffer_bytes, const WrittenText& begun)
    : file_(begun.bytes == 0 ? PosixFile::create(file) : PosixFile::open_for_writing(file)),
      buffer_bytes_(buffer_bytes),
      written_(begun) {
  if (begun.bytes != 0) file_.resize(begun.bytes);
  if (is_gzip_name(file.native())) deflater_ = std::make_unique<Deflater>(buffer_bytes);
}

TextOutput::~TextOutput() = default;

std::uint64_t TextOutput::memory_bytes(std::size_t buffer_bytes, bool is_gzip) {
  constexpr std::uint64_t of_gzip = deflate_bytes + Inflater::memory_bytes + inflated_at_once;
  return is_gzip ? 2 * buffer_bytes + of_gzip : buffer_bytes;
}

void TextOutput::append(std::string_view line) {
  if (buffer_.size() + line.size() > buffer_bytes_) flush();
  if (buffer_.capacity() < buffer_bytes_) buffer_.reserve(buffer_bytes_);
  buffer_ += line;
  // Prefetches where the next lines go: lines of many files are gathered in turn, in more memory than the core's caches
  // hold.
  __builtin_prefetch(buffer_.data() + buffer_.size() + line_of_cache, 1);
  __builtin_prefetch(buffer_.data() + buffer_.size() + 2 * line_of_cache, 1);
}

void TextOutput::flush() {
  if (deflater_) {
    compress(false);
  } else {
    add_lines(buffer_, written_.lines);
    write(buffer_);
  }
  buffer_.clear();
}

void TextOutput::compress(bool is_end) {
  try {
    deflater_->feed(buffer_, is_end, [&](std::string_view bytes) { write(bytes); });
  } catch (const Error& error) {
    if (error.kind() != Kind::input) throw;
    throw Error(Kind::io, file_.path(),
                {"what was compressed for it does not inflate again: " + error.text().found, "the same lines",
                 "nothing is published; run it again: if it comes again zlib is wrong, else the machine is"});
  }
}

void TextOutput::write(std::string_view bytes) {
  const auto data = std::as_bytes(std::span(bytes));
  written_.content += sum_of(data, written_.bytes);
  file_.write(written_.bytes, data);
  written_.bytes += bytes.size();
}

std::optional<WrittenText> TextOutput::so_far() {
  if (deflater_) return std::nullopt;
  flush();
  return written_;
}

WrittenText TextOutput::finish(bool fsync) {
  flush();
  if (deflater_) {
    compress(true);
    written_.lines = deflater_->lines();
  }
  if (fsync) file_.sync();
  return written_;
}

}  // namespace ckpt
