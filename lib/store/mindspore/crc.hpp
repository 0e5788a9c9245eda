#pragma once

#include <cstdint>

#include "io/posix_file.hpp"

namespace ckpt::mindspore {

/// Returns the CRC-32 of a file's first bytes. Throws io if they cannot be read, or if the job is interrupted.
std::uint64_t crc_of(const PosixFile& file, std::uint64_t bytes);

}  // namespace ckpt::mindspore
