#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.hpp"

namespace ckpt::mindspore {

/// The `tensor_type` of a text: UTF-32LE without a length.
inline constexpr std::string_view text_word = "str";
/// The `tensor_type` of a generator's state: bytes, whose dims mean nothing.
inline constexpr std::string_view random_word = "random_op";
/// The type name of a hash table's bytes: only MindSpore's own format knows it, so that any other format refuses to
/// write it by this name.
inline constexpr std::string_view hash_table = "hash table";

/// Returns the type that a `tensor_type` names: "Float32" → f32. Nothing for texts, and for words unknown to MindSpore.
std::optional<DType> element_type(std::string_view word);

/// Returns MindSpore's name of a type; empty for types that it does not have.
std::string_view type_word(const DType& dtype);

}  // namespace ckpt::mindspore
