#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/interned.hpp"

namespace ckpt {

/// The kind of an element.
enum class ElementKind : std::uint8_t {
  other,  ///< compounds, opaque bytes, enums: moved, never interpreted
  boolean,
  signed_integer,
  unsigned_integer,
  ieee_float,  ///< binary16, 32 and 64 of IEEE 754
  bfloat,      ///< the upper half of a binary32
  f8_e4m3,     ///< without infinities ("fn")
  f8_e5m2,
  complex,            ///< two ieee_floats: real, imaginary
  text,               ///< of `size` bytes, ended by the first zero byte; of any length if size is 0
  space_padded_text,  ///< of `size` bytes, padded with spaces
};

constexpr ElementKind last_of(ElementKind) {
  return ElementKind::space_padded_text;
}

enum class ByteOrder : std::uint8_t { little, big };

constexpr ByteOrder last_of(ByteOrder) {
  return ByteOrder::big;
}

/// The type of a tensor's elements, independent of any file format. Moving elements requires only their size;
/// comparing, casting and showing them require the kind.
struct DType {
  ElementKind kind = ElementKind::other;
  ByteOrder order = ByteOrder::little;  ///< little for elements of one byte, and of kind other
  std::uint64_t size = 0;               ///< bytes of one element
  /// A full and canonical description: "f32", "bf16", "i64be", "bool", "{r:f32@0,i:f32@4}/8" for a compound.
  InternedText name;
  /// The data that a file format needs to restore exactly the same type if name, kind and size do not suffice; only
  /// that format understands it. Empty for types that every format has.
  InternedText native;

  bool is_float() const noexcept;  ///< a real floating-point number

  friend bool operator==(const DType&, const DType&) = default;
};

/// Returns the named number type of this kind and size: {ieee_float, 4} → "f32". Nothing if there is no such type.
std::optional<DType> number_type(ElementKind kind, std::uint64_t size, ByteOrder order = ByteOrder::little);

/// Returns the number type of this name ("f32", "i64be", "bool"), or nothing.
std::optional<DType> number_type(std::string_view name);

/// Returns the type of UTF-8 texts of any length.
DType text_type();

}  // namespace ckpt
