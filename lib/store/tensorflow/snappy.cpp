#include "store/tensorflow/snappy.hpp"

#include "store/cursor.hpp"

namespace ckpt::tensorflow {

namespace {

[[noreturn]] void refuse_packed(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "", {found, expected, "the file is damaged: take another copy of it"});
}

/// Appends `length` bytes of the text itself, from `back` bytes before its end on; the two may overlap.
void repeat(std::string& text, std::uint64_t back, std::uint64_t length) {
  if (back == 0 || back > text.size())
    refuse_packed("a copy of what lies " + std::to_string(back) + " bytes back",
                  "at most the " + std::to_string(text.size()) + " bytes before it");
  for (; length > 0; --length) text.push_back(text[text.size() - back]);
}

}  // namespace

std::string unpacked_snappy(std::string_view packed, std::uint64_t most_bytes) {
  Cursor in(packed);
  const std::uint64_t bytes = in.varint();
  if (bytes > most_bytes)
    refuse_packed("a compressed block of " + std::to_string(bytes) + " bytes", "at most " + std::to_string(most_bytes));
  std::string text;
  while (!in.is_at_end()) {
    const std::uint64_t tag = in.little(1);
    const std::uint64_t upper = tag >> 2U;
    std::uint64_t back = 0;
    std::uint64_t length = upper + 1;
    switch (tag & 3U) {
      case 0:
        if (upper >= 60) length = in.little(static_cast<unsigned>(upper - 59)) + 1;
        break;
      case 1:
        length = (upper & 7U) + 4;
        back = tag >> 5U << 8U | in.little(1);
        break;
      case 2:
        back = in.little(2);
        break;
      default:
        back = in.little(4);
    }
    if (length > bytes - text.size()) refuse_packed("a compressed block that is longer than it says", "its own length");
    if ((tag & 3U) == 0)
      text += in.take(length);
    else
      repeat(text, back, length);
  }
  if (text.size() != bytes)
    refuse_packed("a compressed block of " + std::to_string(text.size()) + " bytes",
                  std::to_string(bytes) + ", as it says");
  return text;
}

}  // namespace ckpt::tensorflow
