#pragma once

#include "store/catalog.hpp"
#include "store/hdf5/global_heap.hpp"
#include "store/hdf5/library.hpp"

namespace ckpt::hdf5 {

struct CatalogEntry {
  StoredArray array;
  Dataset dataset;
  std::vector<std::string> left_out;  ///< names of attributes, see read_attributes
  std::vector<std::string> viewed;    ///< the file that each of Dataset::views shows
  bool is_over = false;               ///< its value was counted, and is more than there is memory for
};

/// Reads everything about one dataset except its name. Throws input for what cannot or must not be read: data outside
/// the file, references, sizes that the file's size rules out.
CatalogEntry read_dataset(hid_t dataset, std::uint64_t file_bytes, GlobalHeap& heap);

}  // namespace ckpt::hdf5
