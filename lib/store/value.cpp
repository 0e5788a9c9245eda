#include "store/value.hpp"

#include "base/checked.hpp"
#include "base/wire.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_extent = std::uint64_t{1} << 62;

bool is_text(const DType& dtype) {
  return dtype.kind == ElementKind::text || dtype.kind == ElementKind::space_padded_text;
}

std::string fixed_text(const DType& dtype, std::string_view bytes) {
  if (dtype.kind == ElementKind::space_padded_text)
    return std::string(bytes.substr(0, bytes.find_last_not_of(' ') + 1));
  return std::string(bytes.substr(0, bytes.find('\0')));
}

}  // namespace

Value text_value(const std::string& text) {
  return {text_type(), Shape{}, wire::packed(text)};
}

Value integers_value(const Shape& numbers) {
  Value value{*number_type("i64"), Shape{numbers.size()}, {}};
  for (const std::uint64_t number : numbers) {
    const auto element = checked_narrow<std::int64_t>(number);
    value.bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
  }
  return value;
}

std::optional<std::vector<std::string>> texts_in(const Value& value) {
  if (!is_text(value.dtype)) return std::nullopt;
  wire::Reader bytes(value.bytes, "a text");
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < value.count(); ++i) {
    if (value.dtype.size > 0) {
      texts.push_back(fixed_text(value.dtype, bytes.raw(value.dtype.size)));
      continue;
    }
    const std::uint64_t length = bytes.take<std::uint64_t>();
    texts.emplace_back(length == no_text ? std::string_view() : bytes.raw(length));
  }
  bytes.finish();
  return texts;
}

std::optional<std::string> text_in(const Value& value) {
  auto texts = texts_in(value);
  if (!texts || texts->size() != 1) return std::nullopt;
  return std::move(texts->front());
}

std::optional<std::vector<std::uint64_t>> whole_numbers_in(const Value& value) {
  const auto format = number_format(value.dtype);
  if (!format || format->is_float || !value.shape || value.shape->size() != 1 ||
      value.bytes.size() != checked_mul(value.count(), format->size))
    return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < value.count(); ++i) {
    const auto* element = reinterpret_cast<const std::byte*>(value.bytes.data()) + i * format->size;
    if (format->kind == ElementKind::signed_integer && signed_value(*format, element) < 0) return std::nullopt;
    if (unsigned_value(*format, element) > most_extent) return std::nullopt;
    numbers.push_back(unsigned_value(*format, element));
  }
  return numbers;
}

std::optional<Shape> shape_in(const Value& value) {
  const auto numbers = whole_numbers_in(value);
  if (!numbers) return std::nullopt;
  return Shape(std::span<const std::uint64_t>(*numbers));
}

}  // namespace ckpt
