#pragma once

#include "base/byte_stream.hpp"
#include "base/error.hpp"

namespace ckpt {

/// An error on its way to another process: all of its parts.
void put(ByteWriter& out, const Error& error);
/// Reads it back. Throws input where the bytes are no such error: they may come from a process that a hostile file has
/// got hold of.
Error get_error(ByteReader& in);

}  // namespace ckpt
