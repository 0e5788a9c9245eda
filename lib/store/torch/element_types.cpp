#include "store/torch/element_types.hpp"

#include "store/element_words.hpp"
#include "tensor/known_types.hpp"

namespace ckpt::torch {

namespace {

/// Types of later versions of torch have no class: their storages are untyped.
const ElementWords& storages() {
  static constexpr ElementWord rows[] = {
      {"DoubleStorage", "f64"},         {"FloatStorage", "f32"},        {"HalfStorage", "f16"},
      {"BFloat16Storage", "bf16"},      {"LongStorage", "i64"},         {"IntStorage", "i32"},
      {"ShortStorage", "i16"},          {"CharStorage", "i8"},          {"ByteStorage", "u8"},
      {"BoolStorage", "bool"},          {"ComplexFloatStorage", "c64"}, {"ComplexDoubleStorage", "c128"},
      {"storage.UntypedStorage", "u8"}, {"UntypedStorage", "u8"}};
  static const ElementWords all(rows);
  return all;
}

constexpr ElementWord type_rows[] = {{"float64", "f64"},
                                     {"float32", "f32"},
                                     {"float16", "f16"},
                                     {"bfloat16", "bf16"},
                                     {"int64", "i64"},
                                     {"int32", "i32"},
                                     {"int16", "i16"},
                                     {"int8", "i8"},
                                     {"uint64", "u64"},
                                     {"uint32", "u32"},
                                     {"uint16", "u16"},
                                     {"uint8", "u8"},
                                     {"bool", "bool"},
                                     {"complex32", "c32"},
                                     {"complex64", "c64"},
                                     {"complex128", "c128"},
                                     {"float8_e4m3fn", "f8_e4m3"},
                                     {"float8_e5m2", "f8_e5m2"},
                                     {"float8_e4m3fnuz", "f8_e4m3fnuz"},
                                     {"float8_e5m2fnuz", "f8_e5m2fnuz"},
                                     {"float8_e8m0fnu", "f8_e8m0"},
                                     {"float4_e2m1fn_x2", "f4_e2m1x2"}};
static_assert(decides_each_type(type_rows, {"int4x2", "hif8"}));

const ElementWords& types() {
  static const ElementWords all(type_rows);
  return all;
}

/// Removes the module's name, which has changed between versions.
std::string_view within_torch(std::string_view name) {
  constexpr std::string_view module = "torch.";
  return name.starts_with(module) ? name.substr(module.size()) : std::string_view();
}

}  // namespace

std::optional<DType> storage_type(std::string_view name) {
  return storages().type(within_torch(name));
}

/// https://github.com/pytorch/pytorch, torch/storage.py, _dtype_to_storage_type_map: several elements in one byte count
/// as one.
std::optional<std::uint64_t> storage_element_bytes(std::string_view name) {
  if (const auto type = storage_type(name)) return type->size;
  name = within_torch(name);
  if (name == "QInt32Storage") return 4;
  const bool is_of_bytes =
      name == "QInt8Storage" || name == "QUInt8Storage" || name == "QUInt4x2Storage" || name == "QUInt2x4Storage";
  return is_of_bytes ? std::optional<std::uint64_t>(1) : std::nullopt;
}

std::optional<DType> element_type(std::string_view name) {
  return types().type(within_torch(name));
}

std::optional<TorchType> torch_type(const DType& dtype) {
  const std::string_view name = types().word(dtype);
  if (name.empty()) return std::nullopt;
  return TorchType{name, storages().word(dtype)};
}

}  // namespace ckpt::torch
