#include "tensor/dtype.hpp"

#include <algorithm>
#include <array>

namespace ckpt {

namespace {

struct Known {
  std::string_view name;
  ElementKind kind;
  std::uint64_t size;
};

constexpr std::array known_types{
    Known{"bool", ElementKind::boolean, 1},         Known{"i8", ElementKind::signed_integer, 1},
    Known{"i16", ElementKind::signed_integer, 2},   Known{"i32", ElementKind::signed_integer, 4},
    Known{"i64", ElementKind::signed_integer, 8},   Known{"u8", ElementKind::unsigned_integer, 1},
    Known{"u16", ElementKind::unsigned_integer, 2}, Known{"u32", ElementKind::unsigned_integer, 4},
    Known{"u64", ElementKind::unsigned_integer, 8}, Known{"f16", ElementKind::ieee_float, 2},
    Known{"f32", ElementKind::ieee_float, 4},       Known{"f64", ElementKind::ieee_float, 8},
    Known{"bf16", ElementKind::bfloat, 2},          Known{"f8_e4m3", ElementKind::f8_e4m3, 1},
    Known{"f8_e5m2", ElementKind::f8_e5m2, 1},      Known{"c32", ElementKind::complex, 4},
    Known{"c64", ElementKind::complex, 8},          Known{"c128", ElementKind::complex, 16},
};

constexpr std::string_view big_ending = "be";

DType made(const Known& known, ByteOrder order) {
  const bool is_big = order == ByteOrder::big && known.size > 1;
  std::string name(known.name);
  if (is_big) name += big_ending;
  return {known.kind, is_big ? order : ByteOrder::little, known.size, name, ""};
}

}  // namespace

bool DType::is_float() const noexcept {
  return kind == ElementKind::ieee_float || kind == ElementKind::bfloat || kind == ElementKind::f8_e4m3 ||
         kind == ElementKind::f8_e5m2;
}

std::optional<DType> number_type(ElementKind kind, std::uint64_t size, ByteOrder order) {
  const auto found = std::find_if(known_types.begin(), known_types.end(),
                                  [&](const Known& known) { return known.kind == kind && known.size == size; });
  if (found == known_types.end()) return std::nullopt;
  return made(*found, order);
}

std::optional<DType> number_type(std::string_view name) {
  const bool is_big = name.ends_with(big_ending);
  if (is_big) name.remove_suffix(big_ending.size());
  const auto* const found = std::ranges::find(known_types, name, &Known::name);
  if (found == known_types.end() || (is_big && found->size == 1)) return std::nullopt;
  return made(*found, is_big ? ByteOrder::big : ByteOrder::little);
}

DType text_type() {
  return {ElementKind::text, ByteOrder::little, 0, "text", ""};
}

}  // namespace ckpt
