#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt::tensorflow {

/// A slice's part of one dimension, as a bundle lists it.
struct SliceExtent {
  std::int64_t start = 0;
  std::int64_t length = -1;  ///< −1: the whole dimension
};

/// Returns the key of a slice's own entry in an index. It begins with a zero byte, so that it sorts before all names.
/// https://github.com/tensorflow/tensorflow, tensorflow/core/util/saved_tensor_slice_util.cc, EncodeTensorNameSlice;
/// tensorflow/core/lib/strings/ordered_code.cc
std::string slice_key(std::string_view name, const std::vector<SliceExtent>& slice);

}  // namespace ckpt::tensorflow
