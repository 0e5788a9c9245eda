#include "store/tensorflow/slice_key.hpp"

#include <algorithm>

namespace ckpt::tensorflow {

namespace {

void put_ordered_text(std::string& key, std::string_view text) {
  for (const char c : text) {
    key.push_back(c);
    if (c == '\0') key.push_back('\xff');
    if (c == '\xff') key.push_back('\0');
  }
  key.append({'\0', '\1'});
}

/// The number of bytes, and the bytes, the highest first.
void put_ordered_unsigned(std::string& key, std::uint64_t number) {
  std::string bytes;
  for (; number != 0; number >>= 8U) bytes.push_back(static_cast<char>(number & 0xffU));
  key.push_back(static_cast<char>(bytes.size()));
  key.append(bytes.rbegin(), bytes.rend());
}

/// As many ones as there are bytes, a zero, and the number's bits; of a negative number, the complement of all.
void put_ordered_signed(std::string& key, std::int64_t number) {
  const bool is_negative = number < 0;
  const std::uint64_t magnitude =
      is_negative ? ~static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  unsigned count = 1;
  while (count < 10 && magnitude >> (7 * count - 1) != 0) ++count;
  std::string bytes(count, '\0');
  for (unsigned i = 0; i < std::min(count, 8U); ++i)
    bytes[count - 1 - i] = static_cast<char>(magnitude >> (8 * i) & 0xffU);
  for (unsigned bit = 0; bit < count; ++bit)
    bytes[bit / 8] = static_cast<char>(static_cast<unsigned char>(bytes[bit / 8]) | 0x80U >> bit % 8);
  for (const char byte : bytes) key.push_back(is_negative ? static_cast<char>(~byte) : byte);
}

}  // namespace

std::string slice_key(std::string_view name, const std::vector<SliceExtent>& slice) {
  std::string key;
  put_ordered_unsigned(key, 0);
  put_ordered_text(key, name);
  put_ordered_unsigned(key, slice.size());
  for (const SliceExtent& extent : slice) {
    put_ordered_signed(key, extent.start);
    put_ordered_signed(key, extent.length);
  }
  return key;
}

}  // namespace ckpt::tensorflow
