#include "inspect/attribute_value.hpp"

#include <optional>
#include <string>

#include "tensor/number.hpp"

namespace ckpt::cli {

namespace {

constexpr std::uint64_t longest_list = 64;

Json number(const NumberFormat& format, const std::byte* element) {
  if (format.is_float) return float_value(format, element);
  switch (format.kind) {
    case ElementKind::boolean:
      return unsigned_value(format, element) != 0;
    case ElementKind::signed_integer:
      return signed_value(format, element);
    default:
      return unsigned_value(format, element);
  }
}

/// The elements as a list, or nothing for types without a short form.
std::optional<Json> elements_of(const Value& value) {
  Json list = Json::array();
  if (const auto texts = texts_in(value)) {
    for (const auto& text : *texts) list.push_back(text);
    return list;
  }
  const auto format = number_format(value.dtype);
  if (!format || value.bytes.size() != value.count() * format->size) return std::nullopt;
  for (std::uint64_t i = 0; i < value.count(); ++i)
    list.push_back(number(*format, reinterpret_cast<const std::byte*>(value.bytes.data()) + i * format->size));
  return list;
}

}  // namespace

Json attribute_value(const Value& value) {
  if (!value.shape) return nullptr;
  if (value.shape->size() <= 1 && value.count() <= longest_list)
    if (const auto elements = elements_of(value)) return value.shape->empty() ? elements->front() : *elements;
  return {{"dtype", value.dtype.name}, {"shape", std::vector<std::uint64_t>(value.shape->begin(), value.shape->end())}};
}

}  // namespace ckpt::cli
