#include "store/pdparams/latin1_data.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace ckpt::pdparams {

namespace {

constexpr std::uint64_t step_bytes = 64U << 10;
constexpr std::size_t text_window_bytes = 128U << 10;

[[noreturn]] void refuse_text() {
  throw Error(Kind::input, "",
              {"the text of its elements is not Latin-1", "bytes as Python's pickles of protocol 2 have them",
               "is the file damaged?"});
}

}  // namespace

/// Decodes the text from one of its bytes on.
class Latin1Data::Stream {
 public:
  Stream(const PosixFile& file, const FileExtents& text, std::uint64_t at) : file_(file), text_(text), at_(at) {}

  bool is_at_end() const noexcept { return at_ == text_.bytes(); }
  std::uint64_t at() const noexcept { return at_; }

  std::byte next() {
    const unsigned char first = take();
    if (first < 0x80U) return std::byte{first};
    if (first != 0xc2U && first != 0xc3U) refuse_text();
    const unsigned char second = take();
    if ((second & 0xc0U) != 0x80U) refuse_text();
    return std::byte{static_cast<unsigned char>((first & 3U) << 6U | (second & 0x3fU))};
  }

 private:
  unsigned char take() {
    if (at_ == text_.bytes()) refuse_text();
    if (used_ == window_.size()) fill();
    ++at_;
    return static_cast<unsigned char>(window_[used_++]);
  }

  void fill() {
    const std::uint64_t end = std::min<std::uint64_t>(text_.bytes(), at_ + text_window_bytes);
    window_.resize(end - at_);
    const auto out = std::as_writable_bytes(std::span(window_));
    text_.for_each_part({at_, end}, [&](std::uint64_t place, Interval part) {
      file_.read(place, out.subspan(part.lo - at_, part.size()));
    });
    used_ = 0;
  }

  const PosixFile& file_;
  const FileExtents& text_;
  std::uint64_t at_;
  std::string window_;
  std::size_t used_ = 0;
};

void Latin1Data::look_through() {
  std::vector<std::uint64_t> steps;
  Stream stream(file_, text_, 0);
  std::uint64_t decoded = 0;
  for (; !stream.is_at_end(); ++decoded) {
    if (decoded % step_bytes == 0) steps.push_back(stream.at());
    stream.next();
  }
  if (decoded != bytes_)
    throw Error(Kind::input, "",
                {"the text of its elements stands for " + std::to_string(decoded) + " bytes", std::to_string(bytes_),
                 "is the file damaged?"});
  steps_ = std::move(steps);
}

void Latin1Data::read(std::uint64_t offset, std::span<std::byte> out) {
  std::call_once(is_known_, [&] { look_through(); });
  if (out.empty()) return;
  Stream stream(file_, text_, steps_.at(offset / step_bytes));
  for (std::uint64_t skipped = offset % step_bytes; skipped > 0; --skipped) stream.next();
  std::generate(out.begin(), out.end(), [&] { return stream.next(); });
}

}  // namespace ckpt::pdparams
