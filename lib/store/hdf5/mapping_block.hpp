#pragma once

#include <string>
#include <vector>

#include "store/view.hpp"

namespace ckpt::hdf5 {

/// Encodes a virtual dataset's mappings as an object of its file's global heap, with every number little-endian and
/// sizes of 8 bytes. HDF5 takes fifty times as long to make one. Format: "Virtual Dataset Layout" and "Dataspace
/// Selections" of the HDF5 file format specification, in versions that every HDF5 with virtual datasets reads.
/// `viewed`: the files that the views refer to.
std::string mapping_block(const std::vector<View>& views, const std::vector<ViewedFile>& viewed);

/// Escapes a name for a mapping, where % begins the number of a block, and %% is a percent sign.
std::string escaped(const std::string& name);

}  // namespace ckpt::hdf5
