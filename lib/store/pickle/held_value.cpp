#include "store/pickle/held_value.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/utf8.hpp"
#include "store/pickle/pickle_machine.hpp"
#include "tensor/number.hpp"

namespace ckpt::torch {

namespace {

const std::byte* element_of(const Value& value, const NumberFormat& format, std::uint64_t index) {
  return reinterpret_cast<const std::byte*>(value.bytes.data()) + index * format.size;
}

/// A pickle's whole numbers have 64 bits with a sign.
bool fits(const NumberFormat& format, const std::byte* element) {
  return format.kind != ElementKind::unsigned_integer ||
         unsigned_value(format, element) <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
}

PickleId add_number(Pickle& pickle, const NumberFormat& format, const std::byte* element) {
  PickleNode node = node_of(format.is_float                       ? PickleKind::real
                            : format.kind == ElementKind::boolean ? PickleKind::boolean
                                                                  : PickleKind::integer);
  node.number =
      format.is_float ? std::bit_cast<std::int64_t>(float_value(format, element)) : signed_value(format, element);
  return pickle.add(std::move(node));
}

}  // namespace

bool is_held(const Value& value) {
  if (!value.shape) return true;
  if (value.shape->size() > 1) return false;
  if (const auto texts = texts_in(value))
    return std::all_of(texts->begin(), texts->end(), [](const std::string& text) { return is_utf8(text); });
  const auto format = number_format(value.dtype);
  if (!format || value.bytes.size() != value.count() * format->size) return false;
  for (std::uint64_t i = 0; i < value.count(); ++i)
    if (!fits(*format, element_of(value, *format, i))) return false;
  return true;
}

PickleId add_text(Pickle& pickle, std::string text) {
  PickleNode node = node_of(PickleKind::text, 'X');
  node.text = pickle.keep(std::move(text));
  return pickle.add(std::move(node));
}

PickleId add_integer(Pickle& pickle, std::int64_t number) {
  PickleNode node = node_of(PickleKind::integer);
  node.number = number;
  return pickle.add(std::move(node));
}

PickleId add_value(Pickle& pickle, const Value& value) {
  if (!value.shape) return pickle.add({});
  std::vector<PickleId> items;
  if (auto texts = texts_in(value)) {
    for (std::string& text : *texts) items.push_back(add_text(pickle, std::move(text)));
  } else {
    const NumberFormat format = number_format(value.dtype).value();
    for (std::uint64_t i = 0; i < value.count(); ++i)
      items.push_back(add_number(pickle, format, element_of(value, format, i)));
  }
  if (value.shape->empty()) return items.front();
  PickleNode list = node_of(PickleKind::list);
  list.items = std::move(items);
  return pickle.add(std::move(list));
}

}  // namespace ckpt::torch
