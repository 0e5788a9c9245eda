#pragma once

#include <cstdint>
#include <memory>

#include "io/posix_file.hpp"
#include "store/catalog.hpp"

namespace ckpt::paddle_static {

inline constexpr const char* format_name = "paddle_static";

/// Returns whether a file begins as a tensor of save_persistables or save_combine.
bool begins_as_tensor(const PosixFile& file, std::uint64_t file_bytes);

/// Reads the metadata of a file of tensors, one after the other, each of which begins with (little-endian)
/// u32 0, u64 levels of offsets, for each level u64 bytes and these bytes, u32 0, i32 length of a TensorDesc
/// {1: type, 2: sizes}; then its elements. The file has no names: a program beside it gives them to several tensors;
/// one tensor has the file's name, if the program does not say otherwise. Without a program, several tensors are
/// called by their numbers. Throws input.
/// Source: paddle/phi/core/framework/dense_tensor_serialize.cc, checked with files of Paddle 3.3.1.
std::shared_ptr<const Schema> read_variables(const PosixFile& file, std::uint64_t file_bytes);

}  // namespace ckpt::paddle_static
