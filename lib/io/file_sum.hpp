#pragma once

#include <cstdint>

#include "io/posix_file.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// Returns the sum of a file's first bytes by their offsets (`sum_of`).
PartialSum sum_of_file(const PosixFile& file, std::uint64_t bytes);

}  // namespace ckpt
