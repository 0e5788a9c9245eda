#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "store/pdparams/skimmed_pickle.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::pdparams {

/// Where the bytes of an array lie that are not one run of the file.
struct ScatteredBytes {
  std::vector<Interval> runs;  ///< in the array's order
  bool is_text = false;        ///< its bytes are Latin-1 in UTF-8, as protocol 2 stores them
};

/// The arrays of a pickle, after they were made torch's tensors.
struct FoundArrays {
  torch::Storages storages;
  /// By the first byte of their storage, which is a number beyond the end of the file.
  std::map<std::uint64_t, ScatteredBytes> scattered;
  std::set<torch::PickleId> data;  ///< the nodes of their bytes
};

/// Replaces NumPy's arrays in a pickle, and Paddle's tensors around them, by torch's tensors, so that all that reads
/// torch's trees reads them. Scalars become numbers. Arrays of a type that torch does not have become tensors of an
/// unknown type. Arrays of Python objects stay as they are. Nothing is called.
/// https://github.com/numpy/numpy, numpy/_core/src/multiarray/methods.c, array_reduce
FoundArrays arrays_as_tensors(SkimmedPickle& file, std::uint64_t file_bytes, bool is_of_paddle);

}  // namespace ckpt::pdparams
