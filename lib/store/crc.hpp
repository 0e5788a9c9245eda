#pragma once

#include <cstdint>
#include <string_view>

#include "store/posix_file.hpp"
#include "tensor/box.hpp"

/// CRC-32, as zip archives and MindSpore's files have it.
namespace ckpt {

std::uint32_t crc_of(std::string_view bytes);

/// Of a part of a file. Throws io where it cannot be read, and when the job is interrupted.
std::uint32_t crc_of(const PosixFile& file, Interval bytes);

/// Throws input, naming the object, where its bytes have another sum than was written.
void check_crc(std::uint32_t found, std::uint32_t written, std::string_view object);

}  // namespace ckpt
