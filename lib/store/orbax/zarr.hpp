#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace ckpt::orbax {

/// The files in which zarr describes an array, by the format's version.
inline constexpr std::string_view zarr2_metadata = ".zarray";
inline constexpr std::string_view zarr3_metadata = "zarr.json";

enum class Packing : std::uint8_t { none, zstd, gzip, zlib };

constexpr Packing last_of(Packing) {
  return Packing::zlib;
}

/// How a chunk's elements become bytes.
struct ZarrCodecs {
  Packing packing = Packing::none;
  bool is_summed_inside = false;   ///< a CRC-32C follows the elements
  bool is_summed_outside = false;  ///< a CRC-32C follows what was packed
};

/// Several chunks in one value, with an index.
struct ZarrSharding {
  Shape chunk;  ///< of what lies in the value: divides ZarrArray::grid
  bool is_index_first = false;
  bool is_index_summed = true;  ///< a CRC-32C follows the index
};

/// An array by its own metadata.
struct ZarrArray {
  DType dtype;
  std::string mark;  ///< the name of the type if `dtype` is only the integer in which each element lies
  Shape shape;
  Shape grid;     ///< shape of what a value holds: a chunk, or several (`sharding`)
  Shape strides;  ///< elements from one index of each dimension to the next, in a chunk
  ZarrCodecs codecs;
  std::optional<ZarrSharding> sharding;
  std::string key_beginning;  ///< of the keys of its values: "" or "c"
  std::string key_separator;
  bool has_zero_fill = true;  ///< what was never written is zeros

  const Shape& chunk() const noexcept { return sharding ? sharding->chunk : grid; }
  std::uint64_t chunk_bytes() const;
  bool is_consistent() const;
};

inline constexpr std::uint64_t most_json_bytes = 1U << 20;  ///< of an array's metadata

/// Reads an array's metadata: .zarray of zarr 2, zarr.json of zarr 3; nothing for a group of zarr 3. Throws input for
/// what is damaged, or of a form that is not read, which the error names.
/// https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html,
/// https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html
std::optional<ZarrArray> zarr_array(const std::string& json);

/// Returns zarr 2's name of a type, which `mark` (ZarrArray::mark) may refine; empty if zarr 2 lacks the type.
std::string zarr2_type(const DType& dtype, const std::string& mark);

/// Returns the number of the value with this key (behind the array's name and a slash) in row-major order of the grid;
/// nothing if the array has no such value.
std::optional<std::uint64_t> value_number(const ZarrArray& array, std::string_view key);

/// Returns the key of the value of this number.
std::string value_key(const ZarrArray& array, std::uint64_t number);

/// Returns how many values an array has. Throws input if they are 2^64 or more.
std::uint64_t value_count(const ZarrArray& array);

}  // namespace ckpt::orbax
