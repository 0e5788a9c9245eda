#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "tensor/dtype.hpp"

namespace ckpt {

struct KnownType {
  std::string_view name;
  ElementKind kind;
  std::uint64_t size;
};

/// All numbers that number_type finds.
inline constexpr std::array known_types{
    KnownType{"bool", ElementKind::boolean, 1},         KnownType{"i8", ElementKind::signed_integer, 1},
    KnownType{"i16", ElementKind::signed_integer, 2},   KnownType{"i32", ElementKind::signed_integer, 4},
    KnownType{"i64", ElementKind::signed_integer, 8},   KnownType{"u8", ElementKind::unsigned_integer, 1},
    KnownType{"u16", ElementKind::unsigned_integer, 2}, KnownType{"u32", ElementKind::unsigned_integer, 4},
    KnownType{"u64", ElementKind::unsigned_integer, 8}, KnownType{"f16", ElementKind::ieee_float, 2},
    KnownType{"f32", ElementKind::ieee_float, 4},       KnownType{"f64", ElementKind::ieee_float, 8},
    KnownType{"bf16", ElementKind::bfloat, 2},          KnownType{"f8_e4m3", ElementKind::f8_e4m3, 1},
    KnownType{"f8_e5m2", ElementKind::f8_e5m2, 1},      KnownType{"c32", ElementKind::complex, 4},
    KnownType{"c64", ElementKind::complex, 8},          KnownType{"c128", ElementKind::complex, 16},
};

/// A type of one byte an element that is moved but never interpreted: its name is all that is known of it.
struct MovedType {
  std::string_view name;
  bool holds_codes;  ///< numbers that mean something only with the scales of their block
};
inline constexpr std::array moved_types{
    MovedType{"f8_e4m3fnuz", true}, MovedType{"f8_e5m2fnuz", true}, MovedType{"f8_e8m0", false},
    MovedType{"f4_e2m1x2", true},   MovedType{"int4x2", true},      MovedType{"hif8", true},
};

/// Returns whether each type is either the `type` of one of a format's rows, or among those that the format lacks. Each
/// format's table asserts it, so that none compiles that forgets a new type.
constexpr bool decides_each_type(const auto& rows, std::initializer_list<std::string_view> lacking) {
  const auto is_decided = [&](const auto& each) {
    const bool has = std::ranges::any_of(rows, [&](const auto& row) { return row.type == each.name; });
    return has != (std::ranges::find(lacking, each.name) != lacking.end());
  };
  return std::ranges::all_of(known_types, is_decided) && std::ranges::all_of(moved_types, is_decided);
}

}  // namespace ckpt
