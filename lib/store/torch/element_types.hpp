#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.hpp"

namespace ckpt::torch {

/// The elements of a typed storage: "torch.BFloat16Storage" → bf16; bytes of an untyped one. Nothing for others.
std::optional<DType> storage_type(std::string_view name);

/// The bytes that each element of a storage of this type takes in a file before torch 1.6, of quantised ones, too.
std::optional<std::uint64_t> storage_element_bytes(std::string_view name);

/// "torch.float8_e4m3fn" → f8_e4m3. Nothing for what is no type of whole bytes.
std::optional<DType> element_type(std::string_view name);

/// A type as torch names it.
struct TorchType {
  std::string_view name;     ///< "bfloat16"
  std::string_view storage;  ///< "BFloat16Storage"; empty: of no type of its own
};

/// Nothing for elements that torch has not.
std::optional<TorchType> torch_type(const DType& dtype);

}  // namespace ckpt::torch
