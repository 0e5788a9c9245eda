#pragma once

#include <string>

#include "layout/layout.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// The format of an output: the one asked for, else (empty) the one that the ending of its files' names tells, else
/// HDF5.
const Format& output_format(const std::string& wanted, const std::string& file_name);

/// The layout with the format's ending on its files, where they have that of another format.
Layout with_ending(Layout layout, const Format& format);

}  // namespace ckpt
