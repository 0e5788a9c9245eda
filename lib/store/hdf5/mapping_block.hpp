#pragma once

#include <string>
#include <vector>

#include "store/view.hpp"

namespace ckpt::hdf5 {

/// A virtual dataset's mappings as an object of its file's global heap has them, every number little-endian and sizes
/// of 8 bytes. HDF5 takes fifty times as long to make one. Format: "Virtual Dataset Layout" and "Dataspace Selections"
/// of the HDF5 file format specification, in versions that every HDF5 with virtual datasets reads. `viewed`: the files
/// that the views refer to.
std::string mapping_block(const std::vector<View>& views, const std::vector<ViewedFile>& viewed);

/// A name as a mapping has it: % begins the number of a block, %% is one.
std::string escaped(const std::string& name);

}  // namespace ckpt::hdf5
