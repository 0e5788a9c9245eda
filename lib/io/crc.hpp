#pragma once

#include <cstdint>
#include <string_view>

#include "io/posix_file.hpp"
#include "tensor/box.hpp"

/// CRC-32, as zip archives and MindSpore's files use it.
namespace ckpt {

std::uint32_t crc_of(std::string_view bytes);

/// Returns the CRC-32 of a part of a file. Throws io if it cannot be read, or if the job is interrupted.
std::uint32_t crc_of(const PosixFile& file, Interval bytes);

/// Throws input, naming the object, if the checksum of its bytes differs from the one that was written. `kind`: the
/// checksum's name.
void check_crc(std::uint32_t found, std::uint32_t written, std::string_view object, const char* kind = "CRC-32");

}  // namespace ckpt
