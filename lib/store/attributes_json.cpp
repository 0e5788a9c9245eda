#include "store/attributes_json.hpp"

#include <algorithm>
#include <cmath>

#include "base/json.hpp"
#include "base/utf8.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace {

using nlohmann::json;

std::optional<json> element_json(const Value& value, const NumberFormat& format, std::uint64_t index) {
  const auto* const element = reinterpret_cast<const std::byte*>(value.bytes.data()) + index * format.size;
  if (format.kind == ElementKind::boolean) return json(unsigned_value(format, element) != 0);
  if (format.kind == ElementKind::signed_integer) return json(signed_value(format, element));
  if (!format.is_float) return json(unsigned_value(format, element));
  const double number = float_value(format, element);
  return std::isfinite(number) ? std::optional(json(number)) : std::nullopt;
}

std::optional<json> list_json(const Value& value) {
  json list = json::array();
  if (const auto texts = texts_in(value)) {
    for (const std::string& text : *texts) {
      if (!is_utf8(text)) return std::nullopt;
      list.push_back(text);
    }
    return list;
  }
  const auto format = number_format(value.dtype);
  if (!format || value.bytes.size() != value.count() * format->size) return std::nullopt;
  for (std::uint64_t i = 0; i < value.count(); ++i) {
    auto element = element_json(value, *format, i);
    if (!element) return std::nullopt;
    list.push_back(std::move(*element));
  }
  return list;
}

std::optional<json> value_json(const Value& value) {
  if (!value.shape) return json();
  if (value.shape->size() > 1) return std::nullopt;
  auto list = list_json(value);
  if (list && value.shape->empty()) return list->front();
  return list;
}

[[noreturn]] void refuse_attributes(const std::string& origin) {
  throw Error(Kind::input, origin, {"no attributes", "what these programs wrote", ""});
}

/// Returns the common type of a list's elements.
DType type_of_all(const json& list, const std::string& origin) {
  const auto all = [&](bool (json::*is)() const noexcept) {
    return std::all_of(list.begin(), list.end(), [&](const json& element) { return (element.*is)(); });
  };
  if (all(&json::is_string)) return text_type();
  if (all(&json::is_boolean)) return *number_type("bool");
  if (!all(&json::is_number)) refuse_attributes(origin);
  if (!all(&json::is_number_integer)) return *number_type("f64");
  const bool is_large = std::any_of(list.begin(), list.end(), [](const json& element) {
    return element.is_number_unsigned() && element.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
  });
  return *number_type(is_large ? "u64" : "i64");
}

std::string element_bytes(const DType& dtype, const json& element) {
  const auto bytes_of = [](const auto number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
  };
  if (dtype.kind == ElementKind::text) return text_value(element.get<std::string>()).bytes;
  if (dtype.kind == ElementKind::boolean) return bytes_of(element.get<bool>());
  if (dtype.kind == ElementKind::ieee_float) return bytes_of(element.get<double>());
  if (dtype.kind == ElementKind::unsigned_integer) return bytes_of(element.get<std::uint64_t>());
  return bytes_of(element.get<std::int64_t>());
}

Value value_of(const json& from, const std::string& origin) {
  if (from.is_null()) return {*number_type("bool"), std::nullopt, ""};
  const json list = from.is_array() ? from : json::array({from});
  if (list.empty()) return integers_value({});
  Value value{type_of_all(list, origin), from.is_array() ? Shape{list.size()} : Shape{}, ""};
  for (const json& element : list) value.bytes += element_bytes(value.dtype, element);
  return value;
}

std::vector<Attribute> attributes_of(const json& object, const std::string& origin) {
  if (!object.is_object()) refuse_attributes(origin);
  std::vector<Attribute> attributes;
  for (const auto& [name, value] : object.items()) attributes.push_back({name, value_of(value, origin)});
  return attributes;
}

}  // namespace

AttributesJson attributes_json(const std::vector<Attribute>& of_root, const std::vector<Group>& groups) {
  AttributesJson held;
  json all = json::object();
  const auto add = [&](const std::string& path, const std::vector<Attribute>& attributes) {
    for (const Attribute& attribute : attributes) {
      auto value = is_utf8(attribute.name) && is_utf8(path) ? value_json(attribute.value) : std::nullopt;
      if (value)
        all[path][attribute.name] = std::move(*value);
      else
        held.lost.push_back((path.empty() ? "" : path + "/") + attribute.name);
    }
  };
  add("", of_root);
  for (const Group& group : groups) add(group.path, group.attributes);
  if (!all.empty()) held.text = all.dump();
  return held;
}

void add_attributes(const std::string& text, const std::string& origin, Schema& schema) {
  if (text.empty()) return;
  const json all = parse_json(text, origin, {Kind::input, "attributes", "", 3, text.size()});
  if (!all.is_object()) refuse_attributes(origin);
  for (const auto& [path, object] : all.items()) {
    std::vector<Attribute> attributes = attributes_of(object, origin);
    if (!path.empty()) {
      schema.groups.push_back({path, std::move(attributes)});
      continue;
    }
    for (Attribute& attribute : attributes) schema.attributes.push_back(std::move(attribute));
    std::sort(schema.attributes.begin(), schema.attributes.end(),
              [](const Attribute& a, const Attribute& b) { return a.name < b.name; });
  }
}

}  // namespace ckpt
