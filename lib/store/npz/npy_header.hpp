#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace ckpt::npz {

/// The longest header of an array that is read: NumPy's own limit for untrusted files is 10,000 bytes.
inline constexpr std::uint64_t most_header_bytes = 64U << 10;

/// What an array's header says.
struct NpyHeader {
  std::string type;  ///< NumPy's: "<f4"
  bool is_by_columns = false;
  Shape shape;
  std::uint64_t bytes = 0;  ///< of the header: the array's elements follow it
};

/// Returns whether bytes begin as an array of NumPy does.
bool begins_as_npy(std::string_view bytes);

/// Reads the header with which `begin` begins; nothing in it is evaluated. Throws input.
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
NpyHeader parse_npy_header(std::string_view begin);

/// Returns the type of elements, or nothing if nobody else has it: Python's objects, texts, records.
std::optional<DType> npy_type(const std::string& type);

}  // namespace ckpt::npz
