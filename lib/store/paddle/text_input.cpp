#include "store/paddle/text_input.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace ckpt {

bool is_gzip_name(std::string_view name) {
  return name.ends_with(".gz");
}

TextStream::TextStream(std::filesystem::path path, std::uint64_t byte, std::size_t piece_bytes)
    : path_(std::move(path)), at_(byte), piece_bytes_(piece_bytes) {
  if (is_gzip_name(path_.native())) inflater_ = std::make_unique<Inflater>(piece_bytes);
}

const PosixFile& TextStream::file() {
  if (!file_) {
    file_.emplace(PosixFile::open_for_reading(path_));
    end_ = file_->status().bytes;
  }
  return *file_;
}

PosixFile::Status TextStream::status() {
  return file().status();
}

/// Reads the next piece; returns false at the end.
bool TextStream::read() {
  check_interrupt();
  const PosixFile& from = file();
  if (at_ >= end_) return false;
  piece_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes_, end_ - at_)));
  from.read(at_, std::as_writable_bytes(std::span(piece_)));
  at_ += piece_.size();
  return true;
}

std::string_view TextStream::next() {
  if (!inflater_) return read() ? std::string_view(piece_) : std::string_view();
  std::string_view text;
  with_file(path_.string(), [&] {
    for (text = inflater_->next(compressed_); text.empty(); text = inflater_->next(compressed_)) {
      if (!read()) return inflater_->finish();
      compressed_ = piece_;
    }
  });
  return text;
}

void TextStream::rest() {
  at_ -= compressed_.size();
  compressed_ = {};
  piece_ = {};
  file_.reset();
}

PosixFile::Status read_text(const std::filesystem::path& path, std::size_t piece_bytes,
                            const std::function<void(std::string_view)>& take) {
  TextStream stream(path, 0, piece_bytes);
  const PosixFile::Status before = stream.status();
  for (std::string_view piece = stream.next(); !piece.empty(); piece = stream.next())
    with_file(path.string(), [&] { take(piece); });
  const PosixFile::Status after = stream.status();
  if (after.bytes != before.bytes || after.modified_ns != before.modified_ns)
    throw Error(Kind::input, path.string(), {"it changed while it was read", "", "is it still being written?"})
        .in_file(path.string());
  return before;
}

}  // namespace ckpt
