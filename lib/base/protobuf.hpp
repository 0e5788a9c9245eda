#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Protocol buffers' wire format, without a schema: https://protobuf.dev/programming-guides/encoding/
namespace ckpt::protobuf {

/// A range of bytes by their offsets.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const noexcept { return end - begin; }
};

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint64_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t value = 0;  ///< for a number; negative ones in two's complement
  Range place;              ///< for bytes: where they lie
};

/// Reads messages from bytes that lie anywhere: it reads only what is requested, and so no tensor's data. Throws input,
/// in words for a message, if they are not a message: fields that extend beyond their message, numbers of more than 64
/// bits, groups.
class Reader {
 public:
  /// Fills `out` with the bytes from `offset` on, which exist.
  using Fetch = std::function<void(std::uint64_t offset, std::span<std::byte> out)>;
  Reader(std::uint64_t bytes, Fetch fetch) : bytes_(bytes), fetch_(std::move(fetch)) {}
  explicit Reader(std::string_view text);  ///< `text` must outlive it

  /// Calls visit(field) for each field of a message.
  template <class Visit>
  void for_each_field(Range message, Visit&& visit) {
    while (message.begin < message.end) visit(next(message));
  }

  /// Removes the first field from the rest of a message and returns it.
  Field next(Range& message);

  /// Returns the bytes of a field, at most `most`. Throws input if there are more, or if it is a number.
  std::string text(const Field& field, std::uint64_t most);
  /// Returns the range of a field that is a message.
  static Range message(const Field& field);
  static std::uint64_t number(const Field& field);
  /// Appends a field's number, or its packed list of numbers; `most` limits the total.
  void append_numbers(const Field& field, std::vector<std::uint64_t>& numbers, std::size_t most);

 private:
  std::uint64_t take_varint(Range& message);
  std::uint64_t take_fixed(Range& message, unsigned bytes);
  std::byte at(std::uint64_t offset);

  std::uint64_t bytes_ = 0;
  Fetch fetch_;
  std::vector<std::byte> window_;  // bytes from window_at_ on
  std::uint64_t window_at_ = 0;
};

// Functions that write: each appends to `out`.
void put_varint(std::string& out, std::uint64_t value);
void put_number(std::string& out, std::uint64_t field, std::uint64_t value);
void put_fixed64(std::string& out, std::uint64_t field, std::uint64_t value);
void put_fixed32(std::string& out, std::uint64_t field, std::uint32_t value);
/// Begins a field of `bytes` bytes, which must follow.
void put_length(std::string& out, std::uint64_t field, std::uint64_t bytes);
void put_bytes(std::string& out, std::uint64_t field, std::string_view bytes);

}  // namespace ckpt::protobuf
