#pragma once

#include <string>

#include "store/hdf5/library.hpp"

namespace ckpt::hdf5 {

/// Returns the canonical name of a type in memory form: see DType::name.
std::string type_name(hid_t type);

/// Throws input if types are nested deeper than in any sane program.
void check_depth(int depth);

}  // namespace ckpt::hdf5
