#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/boxed_optional.hpp"
#include "base/error.hpp"
#include "tensor/box.hpp"
#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace ckpt::safetensors {

/// A file begins with the length of its header, 64 bits, little-endian; then come the header, as JSON, and the tensors'
/// bytes, contiguous to the end of the file.
/// https://github.com/huggingface/safetensors, README.md, "Format"
inline constexpr std::uint64_t length_bytes = 8;
/// The limit of the reference implementation.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;

struct Tensor {
  std::string name;
  DType dtype;
  Shape shape;
  std::uint64_t begin = 0;  ///< first byte, counted from the header's end
  std::uint64_t end = 0;
  BoxedOptional<Error> refusal = {};  ///< for a type that nobody can read: the reason; dtype and shape are empty then
};

struct Header {
  std::vector<Tensor> tensors;                  ///< sorted by name
  std::map<std::string, std::string> metadata;  ///< `__metadata__`
};

/// Parses a header, for `data_bytes` of tensors after it. It is strict: throws input, naming the tensor, for duplicate
/// or unknown keys, sizes that do not agree, overlaps and gaps. A tensor whose dtype has no elements of whole bytes is
/// kept with the reason (`refusal`).
Header parse_header(const std::string& text, std::uint64_t data_bytes);

/// Writes a file up to its data, entry by entry: the header's length, then its text.
class HeaderWriter {
 public:
  /// `tensors`, `name_bytes`: the number of tensors to be added, and the total length of their names.
  HeaderWriter(const std::map<std::string, std::string_view>& metadata, std::size_t tensors, std::size_t name_bytes);

  /// Returns where a text of the metadata lies in the file, in its quoted form; empty if no text has this key.
  Interval place_of(const std::string& key) const;

  /// Appends an entry: entries keep the order in which they are added. `bytes`: place of the tensor, counted from the
  /// header's end.
  void add(const std::string& name, const DType& dtype, const Shape& shape, Interval bytes);

  /// Returns the length and the text, padded with spaces so that the data after it begins at a multiple of 8 bytes of
  /// the file; or at this byte of a block, a multiple of 8.
  std::string finish(std::optional<std::uint64_t> in_block = std::nullopt) &&;

 private:
  std::string head_;
  std::map<std::string, Interval> places_;  // places of the metadata's texts
};

/// Escapes a text for use between the quotes of a JSON string.
std::string quoted_inside(std::string_view text);

/// Returns safetensors' name of a type: {ieee_float, 4} → "F32". Empty for types that it does not have.
std::string type_word(const DType& dtype);

}  // namespace ckpt::safetensors
