#include "paddle_files/text_output.hpp"

#include <zlib.h>

#include <span>

#include "base/error.hpp"
#include "paddle_files/line_sums.hpp"
#include "store/paddle/text_input.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t deflate_bytes = 300ULL << 10;  // zlib's state at its default level
constexpr int gzip_output = 16 + MAX_WBITS;            // gzip's header and checksum, not zlib's
constexpr int gzip_memory = 8;                         // zlib's default

}  // namespace

class TextOutput::Deflater {
 public:
  explicit Deflater(std::size_t piece_bytes) : piece_(piece_bytes, '\0') {
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
      deflate(&stream_, is_end ? Z_FINISH : Z_NO_FLUSH);
      write(std::string_view(piece_).substr(0, piece_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_{};
  std::string piece_;
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
  return is_gzip ? 2 * buffer_bytes + deflate_bytes : buffer_bytes;
}

void TextOutput::append(std::string_view line) {
  if (buffer_.size() + line.size() > buffer_bytes_) flush();
  if (buffer_.capacity() < buffer_bytes_) buffer_.reserve(buffer_bytes_);
  buffer_ += line;
}

void TextOutput::flush() {
  add_lines(buffer_, written_.lines);
  if (deflater_)
    deflater_->feed(buffer_, false, [&](std::string_view bytes) { write(bytes); });
  else
    write(buffer_);
  buffer_.clear();
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
  if (deflater_) deflater_->feed(buffer_, true, [&](std::string_view bytes) { write(bytes); });
  if (fsync) file_.sync();
  return written_;
}

}  // namespace ckpt
