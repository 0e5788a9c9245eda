#pragma once

#include <string>

#include "base/protobuf.hpp"
#include "store/posix_file.hpp"

namespace ckpt::mindspore {

/// The text of a `str`, as UTF-8. Throws input for what is no UTF-32, and for more than 64 MiB.
std::string read_text(const PosixFile& file, protobuf::Range content);

/// UTF-8 as the content of a `str`: UTF-32LE; of the empty text one zero.
std::string utf32(const std::string& text);

}  // namespace ckpt::mindspore
