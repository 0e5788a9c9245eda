#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.hpp"
#include "tensor/extents.hpp"

namespace ckpt {

/// The count of bytes of a text that is none, which is not the empty one.
inline constexpr std::uint64_t no_text = ~std::uint64_t{0};

/// A small value, free of any file: an attribute's, or that of a dataset without elements of a fixed size. It can be
/// sent to another process and written again.
struct Value {
  DType dtype;
  std::optional<Extents> shape;  ///< rank 0: a single element; nothing: no value at all, only a type
  /// The elements one after another: those of a fixed size as they are, a part of variable length as a 64-bit count
  /// (in this machine's order) and its elements in place; a text's count of 2^64 − 1: no text, which is not the empty
  /// one.
  std::string bytes;

  std::uint64_t count() const { return shape ? volume(*shape) : 0; }

  friend bool operator==(const Value&, const Value&) = default;
};

/// A named value of a file, a group or a dataset.
struct Attribute {
  std::string name;
  Value value;

  friend bool operator==(const Attribute&, const Attribute&) = default;
};

/// One text, one list of integers, as a value.
Value text_value(const std::string& text);
Value integers_value(const Extents& numbers);

/// Each element as text, as far as it ends; nothing where the elements are no texts. Throws input for damaged bytes.
std::optional<std::vector<std::string>> texts_in(const Value& value);

/// The one text that a value is; the list of non-negative integers that it is; the shape. Nothing where it is not.
/// A shape of too many dimensions throws input.
std::optional<std::string> text_in(const Value& value);
std::optional<std::vector<std::uint64_t>> whole_numbers_in(const Value& value);
std::optional<Extents> extents_in(const Value& value);

}  // namespace ckpt
