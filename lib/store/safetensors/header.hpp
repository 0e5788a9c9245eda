#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/rare.hpp"
#include "tensor/box.hpp"
#include "tensor/dtype.hpp"
#include "tensor/extents.hpp"

namespace ckpt::safetensors {

/// A file begins with the length of its header, 64 bits, little-endian; then the header, JSON; then the tensors' bytes,
/// one after another without a gap to the end of the file.
/// https://github.com/huggingface/safetensors, README.md, "Format"
inline constexpr std::uint64_t length_bytes = 8;
/// What the reference implementation reads.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;

struct Tensor {
  std::string name;
  DType dtype;
  Extents shape;
  std::uint64_t begin = 0;  ///< of its bytes, counted from the header's end
  std::uint64_t end = 0;
  Rare<Error> refusal = {};  ///< of a type that nobody can read: why; dtype and shape are empty then
};

struct Header {
  std::vector<Tensor> tensors;                  ///< sorted by name
  std::map<std::string, std::string> metadata;  ///< `__metadata__`
};

/// The header that a text is, for `data_bytes` of tensors behind it. Strict: throws input, naming the tensor, for
/// duplicate or unknown keys, sizes that do not agree, overlaps and gaps. A tensor of a dtype that no element of whole
/// bytes has is there with the reason (`refusal`).
Header parse_header(const std::string& text, std::uint64_t data_bytes);

/// A file up to its data, written entry by entry: the header's length, then its text.
class HeaderWriter {
 public:
  /// `tensors`, `name_bytes`: how many will be added, and how long their names are together.
  HeaderWriter(const std::map<std::string, std::string_view>& metadata, std::size_t tensors, std::size_t name_bytes);

  /// Where a text of the metadata lies in the file, as it is quoted; empty where there is none of this name.
  Interval place_of(const std::string& key) const;

  /// Entries stand in the order in which they are added. `bytes`: of the tensor, counted from the header's end.
  void add(const std::string& name, const DType& dtype, const Extents& shape, Interval bytes);

  /// The length and the text, which is padded with spaces, so that the data behind it begins at a multiple of 8 bytes
  /// of the file.
  std::string finish() &&;

 private:
  std::string head_;
  std::map<std::string, Interval> places_;  // of the texts of the metadata
};

/// A text as it stands between the quotes of a JSON string.
std::string quoted_inside(std::string_view text);

/// What safetensors calls a type: {ieee_float, 4} → "F32". Empty for types that it does not have.
std::string type_word(const DType& dtype);

}  // namespace ckpt::safetensors
