#pragma once

#include <string>

#include "base/protobuf.hpp"
#include "io/posix_file.hpp"

namespace ckpt::mindspore {

/// Returns the text of a `str` as UTF-8. Throws input if it is not UTF-32, or larger than 64 MiB.
std::string read_text(const PosixFile& file, protobuf::Range content);

/// Encodes UTF-8 as the content of a `str`: UTF-32LE; an empty text becomes one zero.
std::string utf32(const std::string& text);

}  // namespace ckpt::mindspore
