#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/boxed_optional.hpp"
#include "base/error.hpp"
#include "tensor/dtype.hpp"
#include "tensor/interned_shape.hpp"

namespace ckpt {

/// One dataset as a card's file declares it: everything that a layout is checked against.
struct StoredArray {
  InternedText name;  ///< its path in the file without the leading slash
  DType dtype;
  InternedShape shape;
  /// The logical shape that the file itself contains (dataset attribute `ckpt_global_shape`), if any.
  std::optional<InternedShape> global_shape;
  /// It has no fixed-size bytes to move (variable-length strings, an empty dataspace): it is copied whole, never split.
  bool verbatim = false;
  /// The reason why nobody can read it; then it has no elements. A catalog lists such an array: it is an error only if
  /// the array is kept. The reason names neither file nor array, and advises to leave it out.
  BoxedOptional<Error> refusal = {};
};

/// Returns an array that cannot be read. `why` names neither file nor array.
StoredArray unreadable(const std::string& name, const Error& why);

/// Returns the size of its elements, in any format that stores them as they are. Throws input if it overflows.
inline std::uint64_t bytes_of(const StoredArray& array) {
  return checked_mul(numel(array.shape), array.dtype.size, "a dataset's number of bytes");
}

/// The arrays of one card's file, sorted by name. Cards whose files declare the same arrays share one.
using CardArrays = std::shared_ptr<const std::vector<StoredArray>>;

}  // namespace ckpt
