#include "store/element_words.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace ckpt {

DType opaque_type(std::string_view name) {
  return {ElementKind::other, ByteOrder::little, 1, std::string(name), ""};
}

ElementWords::ElementWords(std::span<const ElementWord> rows) {
  for (const ElementWord& each : rows) {
    const auto number = number_type(each.type);
    pairs_.push_back({each.word, number ? *number : opaque_type(each.type)});
  }
}

std::optional<DType> ElementWords::type(std::string_view word) const {
  const auto found = std::ranges::find(pairs_, word, &Pair::word);
  return found == pairs_.end() ? std::nullopt : std::optional(found->dtype);
}

std::string_view ElementWords::word(DType dtype) const {
  dtype.native = "";
  const auto found = std::ranges::find(pairs_, dtype, &Pair::dtype);
  return found == pairs_.end() ? std::string_view() : found->word;
}

bool is_bytes(const DType& dtype) {
  return dtype.kind == ElementKind::other && dtype.name.starts_with("opaque");
}

std::string name_number_type(const DType& dtype, const std::string& name) {
  constexpr std::array<std::pair<std::uint64_t, const char*>, 4> usual{
      {{1, "f8_e4m3"}, {2, "bf16"}, {4, "f32"}, {8, "f64"}}};
  const auto* const found = std::ranges::find(usual, dtype.size, &std::pair<std::uint64_t, const char*>::first);
  return "say which numbers its bytes are, as --as '" + std::string(found == usual.end() ? "DTYPE" : found->second) +
         ":" + name + "' does";
}

}  // namespace ckpt
