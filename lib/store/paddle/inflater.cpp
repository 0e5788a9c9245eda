#include "store/paddle/inflater.hpp"

#include <zlib.h>

#include <string>

#include "base/error.hpp"

namespace ckpt {

namespace {

constexpr int gzip_window = 16 + MAX_WBITS;  // gzip's header and checksum, not zlib's

}  // namespace

struct Inflater::State {
  z_stream stream{};
  std::string text;
  bool is_between = false;  // one gzip file has ended, and no other has begun
};

Inflater::Inflater(std::size_t text_bytes) : state_(std::make_unique<State>()) {
  state_->text.resize(text_bytes);
  if (inflateInit2(&state_->stream, gzip_window) != Z_OK)
    throw Error(Kind::io, "zlib", {"it cannot be started", "", ""});
}

Inflater::~Inflater() {
  inflateEnd(&state_->stream);
}

std::string_view Inflater::next(std::string_view& input) {
  auto& [stream, text, is_between] = *state_;
  while (true) {
    if (is_between) {
      if (input.empty()) return {};
      inflateReset(&stream);
      is_between = false;
    }
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));  // zlib only reads it
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      throw Error(Kind::input, "",
                  {stream.msg != nullptr ? std::string("gzip: ") + stream.msg : "it is no gzip", "a gzip file",
                   "copy it again; a text that is not compressed has a name without .gz"});
    is_between = result == Z_STREAM_END;
    input.remove_prefix(input.size() - stream.avail_in);
    const std::size_t made = text.size() - stream.avail_out;
    if (made != 0) return std::string_view(text).substr(0, made);
    if (!is_between) return {};
  }
}

void Inflater::finish() const {
  if (!state_->is_between)
    throw Error(
        Kind::input, "",
        {"the file ends within its compressed text", "a whole gzip file", "it was cut off: save or copy it again"});
}

}  // namespace ckpt
