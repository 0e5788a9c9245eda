#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/rare.hpp"
#include "tensor/dtype.hpp"
#include "tensor/shape.hpp"

namespace ckpt {

/// One dataset as a card's file declares it: all that a layout is checked against.
struct StoredArray {
  InternedText name;  ///< its path in the file without the leading slash
  DType dtype;
  Shape shape;
  /// The logical shape that the file itself carries (dataset attribute `ckpt_global_shape`), if it does.
  std::optional<Shape> global_shape;
  /// It has no fixed-size bytes to move (variable-length strings, an empty dataspace): copied as it is, never split.
  bool verbatim = false;
  /// Why nobody can read it; it has no elements then. A catalog lists such an array: it is an error only where it is
  /// kept. Names neither file nor array, and advises to leave it out.
  Rare<Error> refusal = {};
};

/// An array that cannot be read. `why` names neither file nor array.
StoredArray unreadable(const std::string& name, const Error& why);

/// The bytes of its elements, in any format that stores them as they are. Throws input where they are too many.
inline std::uint64_t bytes_of(const StoredArray& array) {
  return checked_mul(volume(array.shape), array.dtype.size, "a dataset's number of bytes");
}

/// What one card's file holds, sorted by name. Cards whose files declare the same share one.
using Holding = std::shared_ptr<const std::vector<StoredArray>>;

}  // namespace ckpt
