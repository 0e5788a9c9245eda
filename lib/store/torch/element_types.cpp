#include "store/torch/element_types.hpp"

#include <array>

namespace ckpt::torch {

namespace {

struct Name {
  std::string_view of_torch;
  std::string_view type;
};

constexpr std::array storage_names{
    Name{"DoubleStorage", "f64"},         Name{"FloatStorage", "f32"},        Name{"HalfStorage", "f16"},
    Name{"BFloat16Storage", "bf16"},      Name{"LongStorage", "i64"},         Name{"IntStorage", "i32"},
    Name{"ShortStorage", "i16"},          Name{"CharStorage", "i8"},          Name{"ByteStorage", "u8"},
    Name{"BoolStorage", "bool"},          Name{"ComplexFloatStorage", "c64"}, Name{"ComplexDoubleStorage", "c128"},
    Name{"storage.UntypedStorage", "u8"}, Name{"UntypedStorage", "u8"}};

constexpr std::array type_names{Name{"float64", "f64"},
                                Name{"float32", "f32"},
                                Name{"float16", "f16"},
                                Name{"bfloat16", "bf16"},
                                Name{"int64", "i64"},
                                Name{"int32", "i32"},
                                Name{"int16", "i16"},
                                Name{"int8", "i8"},
                                Name{"uint64", "u64"},
                                Name{"uint32", "u32"},
                                Name{"uint16", "u16"},
                                Name{"uint8", "u8"},
                                Name{"bool", "bool"},
                                Name{"complex32", "c32"},
                                Name{"complex64", "c64"},
                                Name{"complex128", "c128"},
                                Name{"float8_e4m3fn", "f8_e4m3"},
                                Name{"float8_e5m2", "f8_e5m2"}};

/// Moved, never interpreted; each a byte.
constexpr std::array opaque_type_names{Name{"float8_e4m3fnuz", "f8_e4m3fnuz"}, Name{"float8_e5m2fnuz", "f8_e5m2fnuz"},
                                       Name{"float8_e8m0fnu", "f8_e8m0"}, Name{"float4_e2m1fn_x2", "f4_e2m1x2"}};

template <std::size_t N>
std::string_view known(const std::array<Name, N>& names, std::string_view name) {
  for (const Name& each : names)
    if (each.of_torch == name) return each.type;
  return {};
}

template <std::size_t N>
std::string_view name_in_torch(const std::array<Name, N>& names, std::string_view type) {
  for (const Name& each : names)
    if (each.type == type) return each.of_torch;
  return {};
}

/// Without the module, which has moved from version to version.
std::string_view within_torch(std::string_view name) {
  constexpr std::string_view module = "torch.";
  return name.starts_with(module) ? name.substr(module.size()) : std::string_view();
}

}  // namespace

std::optional<DType> storage_type(std::string_view name) {
  return number_type(known(storage_names, within_torch(name)));
}

std::optional<DType> element_type(std::string_view name) {
  const std::string_view word = within_torch(name);
  if (const auto opaque = known(opaque_type_names, word); !opaque.empty())
    return DType{ElementKind::other, ByteOrder::little, 1, std::string(opaque), ""};
  return number_type(known(type_names, word));
}

std::optional<TorchType> torch_type(const DType& dtype) {
  DType plain = dtype;
  plain.native.clear();  // whatever form another format gave it: the bytes are the same
  if (plain == number_type(plain.name)) {
    const std::string_view name = name_in_torch(type_names, plain.name);
    if (!name.empty()) return TorchType{name, name_in_torch(storage_names, plain.name)};
  }
  const std::string_view opaque = name_in_torch(opaque_type_names, plain.name);
  if (opaque.empty() || plain.kind != ElementKind::other || plain.size != 1) return std::nullopt;
  return TorchType{opaque, {}};
}

}  // namespace ckpt::torch
