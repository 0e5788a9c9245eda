#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.hpp"

namespace ckpt::torch {

/// Returns the element type of a typed storage: "torch.BFloat16Storage" → bf16; bytes for an untyped one. Nothing for
/// other names.
std::optional<DType> storage_type(std::string_view name);

/// Returns the bytes for each element of a storage of this type in a file before torch 1.6, also for quantised ones.
std::optional<std::uint64_t> storage_element_bytes(std::string_view name);

/// "torch.float8_e4m3fn" → f8_e4m3. Nothing for anything that is not a type of whole bytes.
std::optional<DType> element_type(std::string_view name);

/// torch's names of a type.
struct TorchType {
  std::string_view name;     ///< "bfloat16"
  std::string_view storage;  ///< "BFloat16Storage"; empty: it has no storage class
};

/// Returns nothing for elements that torch does not have.
std::optional<TorchType> torch_type(const DType& dtype);

}  // namespace ckpt::torch
