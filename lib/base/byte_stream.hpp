#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace ckpt {

/// Appends values to a string of bytes, in this machine's byte order: for messages between the processes of one job,
/// and for keys in memory, never for files.
class ByteWriter {
 public:
  void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void flag(bool value) { bytes_.push_back(value ? '\1' : '\0'); }
  void raw(std::string_view value) { bytes_.append(value); }
  void text(std::string_view value) {
    number(value.size());
    raw(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads the values back, in the same order. The bytes and `what` must outlive it. Throws input, "WHAT is damaged", if
/// the bytes do not hold the value requested.
class ByteReader {
 public:
  ByteReader(std::string_view bytes, std::string_view what) : rest_(bytes), what_(what) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, raw(sizeof value).data(), sizeof value);
    return value;
  }
  bool flag() {
    const char value = raw(1).front();
    if (value != '\0' && value != '\1') fail();
    return value == '\1';
  }
  std::string_view raw(std::uint64_t size) {
    if (size > rest_.size()) fail();
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }
  std::string text() { return std::string(raw(number())); }
  /// Reads a value of an enumeration whose values run from 0 to `last`.
  template <class Choice>
  Choice choice(Choice last) {
    const std::uint64_t value = number();
    if (value > static_cast<std::uint64_t>(last)) fail();
    return static_cast<Choice>(value);
  }
  /// Reads the number of items that follow, each of at least `item_size` bytes.
  std::uint64_t count(std::uint64_t item_size) {
    const std::uint64_t value = number();
    if (value > rest_.size() / item_size) fail();
    return value;
  }
  std::uint64_t left() const noexcept { return rest_.size(); }
  void finish() const {
    if (!rest_.empty()) fail();
  }
  [[noreturn]] void fail() const { throw Error(Kind::input, std::string(what_) + " is damaged"); }

 private:
  std::string_view rest_;
  std::string_view what_;
};

}  // namespace ckpt
