#include "tensor/dtype.hpp"

#include <algorithm>

#include "tensor/known_types.hpp"

namespace ckpt {

namespace {

constexpr std::string_view big_ending = "be";

DType made(const KnownType& known, ByteOrder order) {
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
                                  [&](const KnownType& known) { return known.kind == kind && known.size == size; });
  if (found == known_types.end()) return std::nullopt;
  return made(*found, order);
}

std::optional<DType> number_type(std::string_view name) {
  const bool is_big = name.ends_with(big_ending);
  if (is_big) name.remove_suffix(big_ending.size());
  const auto* const found = std::ranges::find(known_types, name, &KnownType::name);
  if (found == known_types.end() || (is_big && found->size == 1)) return std::nullopt;
  return made(*found, is_big ? ByteOrder::big : ByteOrder::little);
}

DType text_type() {
  return {ElementKind::text, ByteOrder::little, 0, "text", ""};
}

}  // namespace ckpt
