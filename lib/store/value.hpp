#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace ckpt {

/// The byte count of a missing text, which differs from an empty one.
inline constexpr std::uint64_t no_text = ~std::uint64_t{0};

/// A small value, independent of any file: an attribute's, or that of a dataset whose elements have no fixed size. It
/// can be sent to another process and written again.
struct Value {
  DType dtype;
  std::optional<Shape> shape;  ///< rank 0: a single element; nothing: only a type, without a value
  /// The elements in sequence: those of a fixed size as they are, a part of variable length as a 64-bit count (in this
  /// machine's byte order) and its elements in place. A text's count of 2^64 − 1 means no text, which differs from an
  /// empty one.
  std::string bytes;

  std::uint64_t count() const { return shape ? numel(*shape) : 0; }

  friend bool operator==(const Value&, const Value&) = default;
};

/// A named value of a file, a group or a dataset.
struct Attribute {
  std::string name;
  Value value;

  friend bool operator==(const Attribute&, const Attribute&) = default;
};

/// Make a value of one text, or of a list of integers.
Value text_value(const std::string& text);
Value integers_value(const Shape& numbers);

/// Returns each element as text, up to its terminator; nothing if the elements are not texts. Throws input for damaged
/// bytes.
std::optional<std::vector<std::string>> texts_in(const Value& value);

/// Return a value as one text, as a list of non-negative integers, or as a shape; nothing if it is something else. A
/// shape of too many dimensions throws input.
std::optional<std::string> text_in(const Value& value);
std::optional<std::vector<std::uint64_t>> whole_numbers_in(const Value& value);
std::optional<Shape> shape_in(const Value& value);

}  // namespace ckpt
