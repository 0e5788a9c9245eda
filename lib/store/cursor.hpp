#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace ckpt {

/// Takes bytes from the front of a text. Throws input where the text ends before them.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  bool is_at_end() const noexcept { return rest_.empty(); }
  std::size_t left() const noexcept { return rest_.size(); }

  std::string_view take(std::uint64_t bytes) {
    if (bytes > rest_.size())
      throw Error(Kind::input, "",
                  {"ends within " + std::to_string(bytes) + " bytes, of which it has " + std::to_string(rest_.size()),
                   "all of them", "the file is damaged: take another copy of it"});
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::uint64_t little(unsigned bytes) {
    std::uint64_t value = 0;
    const std::string_view taken = take(bytes);
    for (unsigned i = bytes; i-- > 0;) value = value << 8U | static_cast<unsigned char>(taken[i]);
    return value;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t byte = little(1);
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    throw Error(Kind::input, "",
                {"a number of more than 64 bits", "a smaller one", "the file is damaged: take another copy of it"});
  }

 private:
  std::string_view rest_;
};

}  // namespace ckpt
