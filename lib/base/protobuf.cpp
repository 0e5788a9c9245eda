#include "base/protobuf.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace ckpt::protobuf {

namespace {

/// Enough for the fields before a tensor's data; the next field is usually beyond it.
constexpr std::uint64_t window_bytes = 4096;
constexpr unsigned wire_bits = 3;
constexpr unsigned varint_bits = 7;

[[noreturn]] void refuse(std::uint64_t offset, const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "byte " + std::to_string(offset), {found, expected, "is the file damaged or cut off?"});
}

}  // namespace

Reader::Reader(std::string_view text)
    : Reader(text.size(), [text](std::uint64_t offset, std::span<std::byte> out) {
        std::memcpy(out.data(), text.data() + offset, out.size());
      }) {}

std::byte Reader::at(std::uint64_t offset) {
  if (offset >= bytes_) refuse(bytes_, "the end", "more of a message");
  if (offset < window_at_ || offset - window_at_ >= window_.size()) {
    window_.resize(std::min(window_bytes, bytes_ - offset));
    window_at_ = offset;
    fetch_(offset, window_);
  }
  return window_[offset - window_at_];
}

std::uint64_t Reader::take_varint(Range& message) {
  const std::uint64_t start = message.begin;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += varint_bits) {
    if (message.begin >= message.end) refuse(start, "a number that goes beyond its message", "one that ends within it");
    const auto byte = std::to_integer<std::uint64_t>(at(message.begin++));
    const std::uint64_t bits = byte & 0x7fU;
    if (shift == 63 && bits > 1) break;
    value |= bits << shift;
    if (byte < 0x80) return value;
  }
  refuse(start, "a number of more than 64 bits", "a smaller one");
}

std::uint64_t Reader::take_fixed(Range& message, unsigned bytes) {
  if (message.size() < bytes) refuse(message.begin, "a number that goes beyond its message", "one that ends within it");
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= std::to_integer<std::uint64_t>(at(message.begin++)) << (8 * i);
  return value;
}

Field Reader::next(Range& message) {
  const std::uint64_t start = message.begin;
  const std::uint64_t key = take_varint(message);
  Field field{key >> wire_bits, static_cast<Wire>(key & 7U), 0, {}};
  if (field.number == 0) refuse(start, "a field of the number 0", "one from 1 on");
  switch (field.wire) {
    case Wire::varint:
      field.value = take_varint(message);
      return field;
    case Wire::fixed64:
      field.value = take_fixed(message, 8);
      return field;
    case Wire::fixed32:
      field.value = take_fixed(message, 4);
      return field;
    case Wire::bytes: {
      const std::uint64_t length = take_varint(message);
      if (length > message.size())
        refuse(start, "a field of " + std::to_string(length) + " bytes",
               std::to_string(message.size()) + " at most, which are left of its message");
      field.place = {message.begin, message.begin + length};
      message.begin += length;
      return field;
    }
  }
  refuse(start, "a field of wire type " + std::to_string(key & 7U), "0, 1, 2 or 5");
}

Range Reader::message(const Field& field) {
  if (field.wire != Wire::bytes)
    throw Error(Kind::input, "field " + std::to_string(field.number), {"is a number", "a message", ""});
  return field.place;
}

std::uint64_t Reader::number(const Field& field) {
  if (field.wire == Wire::bytes)
    throw Error(Kind::input, "field " + std::to_string(field.number), {"is no number", "a number", ""});
  return field.value;
}

std::string Reader::text(const Field& field, std::uint64_t most) {
  const Range place = message(field);
  if (place.size() > most)
    throw Error(Kind::input, "field " + std::to_string(field.number),
                {"has " + std::to_string(place.size()) + " bytes", "at most " + std::to_string(most), ""});
  std::string text(place.size(), '\0');
  if (text.empty()) return text;
  if (place.begin >= window_at_ && place.end <= window_at_ + window_.size())
    std::memcpy(text.data(), window_.data() + (place.begin - window_at_), text.size());
  else
    fetch_(place.begin, std::as_writable_bytes(std::span(text)));
  return text;
}

void Reader::append_numbers(const Field& field, std::vector<std::uint64_t>& numbers, std::size_t most) {
  const auto append = [&](std::uint64_t value) {
    if (numbers.size() == most)
      throw Error(Kind::input, "field " + std::to_string(field.number),
                  {"more than " + std::to_string(most) + " numbers", "fewer", ""});
    numbers.push_back(value);
  };
  if (field.wire != Wire::bytes) return append(field.value);
  for (Range packed = field.place; packed.begin < packed.end;) append(take_varint(packed));
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= varint_bits) out.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
  out.push_back(static_cast<char>(value));
}

void put_number(std::string& out, std::uint64_t field, std::uint64_t value) {
  put_varint(out, field << wire_bits | static_cast<std::uint64_t>(Wire::varint));
  put_varint(out, value);
}

namespace {

void put_fixed(std::string& out, std::uint64_t field, Wire wire, std::uint64_t value, unsigned bytes) {
  put_varint(out, field << wire_bits | static_cast<std::uint64_t>(wire));
  for (unsigned i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xffU));
}

}  // namespace

void put_fixed64(std::string& out, std::uint64_t field, std::uint64_t value) {
  put_fixed(out, field, Wire::fixed64, value, 8);
}

void put_fixed32(std::string& out, std::uint64_t field, std::uint32_t value) {
  put_fixed(out, field, Wire::fixed32, value, 4);
}

void put_length(std::string& out, std::uint64_t field, std::uint64_t bytes) {
  put_varint(out, field << wire_bits | static_cast<std::uint64_t>(Wire::bytes));
  put_varint(out, bytes);
}

void put_bytes(std::string& out, std::uint64_t field, std::string_view bytes) {
  put_length(out, field, bytes.size());
  out.append(bytes);
}

}  // namespace ckpt::protobuf
