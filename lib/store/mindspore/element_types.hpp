#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.hpp"

namespace ckpt::mindspore {

/// `tensor_type` of a text: UTF-32LE without a length.
inline constexpr std::string_view text_word = "str";
/// A generator's state: bytes, whose dims mean nothing.
inline constexpr std::string_view random_word = "random_op";
/// What a hash table's bytes are called as a type: no format but MindSpore's own knows it, so that it is refused by
/// name wherever it would be written.
inline constexpr std::string_view hash_table = "hash table";

/// The type that a `tensor_type` names: "Float32" → f32. Nothing for texts, and for words that MindSpore has not.
std::optional<DType> element_type(std::string_view word);

/// What MindSpore calls a type; empty for those that it has not.
std::string_view type_word(const DType& dtype);

}  // namespace ckpt::mindspore
