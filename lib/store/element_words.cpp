#include "store/element_words.hpp"

#include <algorithm>
#include <string>

namespace ckpt {

DType opaque_type(std::string_view name) {
  return {ElementKind::other, ByteOrder::little, 1, std::string(name), ""};
}

ElementWords::ElementWords(std::initializer_list<Entry> entries) {
  for (const Entry& each : entries) {
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

}  // namespace ckpt
