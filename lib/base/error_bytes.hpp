#pragma once

#include "base/byte_stream.hpp"
#include "base/error.hpp"

namespace ckpt {

/// Serializes all parts of an error, for another process.
void put(ByteWriter& out, const Error& error);
/// Reads an error back. Throws input if the bytes are not an error: they may come from a process that a hostile file
/// has taken over.
Error get_error(ByteReader& in);

}  // namespace ckpt
