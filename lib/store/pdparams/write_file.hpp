#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"

namespace ckpt::pdparams {

/// Lays out the pickle of a specification, by protocol 4, with room for its arrays. Throws input for elements that
/// Paddle has no type for.
NewFile form_of(const FileSpec& spec);

/// Store::refused_by: paddle.load makes tensors of NumPy's arrays, and Paddle has no unsigned ones of 32 and 64 bits.
std::string_view refused_by(const DType& dtype) noexcept;

/// Lists what such a file would lose. Throws input for elements that Paddle has no type for.
std::vector<std::string> losses(const FileSpec& spec);

}  // namespace ckpt::pdparams
