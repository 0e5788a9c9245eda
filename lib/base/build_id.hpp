#pragma once

#include <string>

namespace ckpt {

/// Returns what the linker has written into this program to tell it from any other build, as hexadecimal digits (the
/// note NT_GNU_BUILD_ID,
/// https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/noteobject.html); empty if it has
/// written nothing.
std::string build_id();

}  // namespace ckpt
