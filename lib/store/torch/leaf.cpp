#include "store/torch/leaf.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "base/wire.hpp"
#include "store/pickle/pickle_fields.hpp"

namespace ckpt::torch {

namespace {

/// Larger values are data, which a catalog does not hold.
constexpr std::size_t most_value_bytes = 1U << 20;

std::optional<DType> type_of(PickleKind kind) {
  switch (kind) {
    case PickleKind::boolean:
      return number_type("bool");
    case PickleKind::integer:
      return number_type("i64");
    case PickleKind::real:
      return number_type("f64");
    case PickleKind::text:
      return text_type();
    default:
      return std::nullopt;
  }
}

void put(wire::Writer& out, const PickleNode& node) {
  if (node.kind == PickleKind::text)
    out.put(node.text);
  else if (node.kind == PickleKind::boolean)
    out.put(node.number != 0);
  else
    out.put(node.number);
}

std::optional<nlohmann::json> json_of(const PickleNode& node) {
  switch (node.kind) {
    case PickleKind::none:
      return nlohmann::json();
    case PickleKind::boolean:
      return nlohmann::json(node.number != 0);
    case PickleKind::integer:
      return nlohmann::json(node.number);
    case PickleKind::real:
      return std::isfinite(node.real()) ? std::optional(nlohmann::json(node.real())) : std::nullopt;
    case PickleKind::text:
      return is_utf8(node.text) ? std::optional(nlohmann::json(node.text)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Returns the size of a numpy.ndarray, whose state is (version, shape, dtype, order, bytes); nothing for other
/// objects.
std::optional<std::uint64_t> bytes_of_array(const Pickle& pickle, PickleId id) {
  const PickleNode& node = pickle[id];
  if (!pickle.name_of(id).ends_with(".multiarray._reconstruct") || node.state == no_node) return std::nullopt;
  constexpr std::size_t bytes_item = 4;
  const PickleNode& state = pickle[node.state];
  if (state.items.size() <= bytes_item) return std::nullopt;
  const PickleNode* bytes = &pickle[state.items[bytes_item]];
  // Protocols without bytes store them as _codecs.encode(text, "latin1").
  if (bytes->kind == PickleKind::call && !pickle[bytes->arguments].items.empty())
    bytes = &pickle[pickle[bytes->arguments].items.front()];
  if (bytes->kind == PickleKind::bytes) return bytes->text.size();
  if (bytes->kind != PickleKind::text) return std::nullopt;
  return static_cast<std::uint64_t>(
      std::ranges::count_if(bytes->text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

/// Returns the class of an object. If it has no pickle form of its own, a function makes it, with the class as
/// argument.
std::string made_class(const Pickle& pickle, PickleId id) {
  std::string_view name = pickle.name_of(id);
  if (pickle.is_call_of(id, "copy_reg._reconstructor") || pickle.is_call_of(id, "copyreg._reconstructor")) {
    const PickleNode& arguments = pickle[pickle[id].arguments];
    if (arguments.kind == PickleKind::tuple && !arguments.items.empty()) name = pickle.name_of(arguments.items[0]);
  }
  return name.empty() ? "an object" : std::string(name);
}

}  // namespace

std::optional<Value> leaf_value(const Pickle& pickle, PickleId id) {
  const PickleNode& node = pickle[list_of(pickle, id)];
  if (node.kind == PickleKind::none) return Value{*number_type("bool"), std::nullopt, ""};
  wire::Writer bytes;
  if (auto type = type_of(node.kind)) {
    if (node.text.size() > most_value_bytes) return std::nullopt;
    put(bytes, node);
    return Value{std::move(*type), Shape{}, bytes.take()};
  }
  if (node.kind != PickleKind::list && node.kind != PickleKind::tuple) return std::nullopt;
  if (node.items.empty()) return integers_value({});
  auto type = type_of(pickle[node.items.front()].kind);
  if (!type) return std::nullopt;
  std::size_t size = 0;
  for (const PickleId item : node.items) {
    const PickleNode& each = pickle[item];
    size += sizeof(std::uint64_t) + each.text.size();
    if (each.kind != pickle[node.items.front()].kind || size > most_value_bytes) return std::nullopt;
    put(bytes, each);
  }
  return Value{std::move(*type), Shape{node.items.size()}, bytes.take()};
}

std::string leaf_json(const Pickle& pickle, PickleId id) {
  const PickleNode& node = pickle[id];
  if (node.kind == PickleKind::dict && node.items.empty()) return "{}";
  if (node.kind != PickleKind::list && node.kind != PickleKind::tuple) return "";
  nlohmann::json list = nlohmann::json::array();
  std::size_t size = 0;
  for (const PickleId item : node.items) {
    auto value = json_of(pickle[item]);
    size += sizeof(std::uint64_t) + pickle[item].text.size();
    if (!value || size > most_value_bytes) return "";
    list.push_back(std::move(*value));
  }
  return list.dump();
}

Leaf leaf_of(const Pickle& pickle, const Opaque& found, PickleId id, std::string name) {
  std::string what = describe(pickle, id);
  if (found.storage_bytes > 0) what += " with tensors of " + format_bytes(found.storage_bytes);
  return {std::move(name), std::move(what), leaf_json(pickle, id), found.digest, true};
}

std::string describe(const Pickle& pickle, PickleId id) {
  const PickleNode& node = pickle[id];
  switch (node.kind) {
    case PickleKind::bytes:
      return std::to_string(node.text.size()) + " bytes";
    case PickleKind::large_integer:
      return "a number of " + std::to_string(8 * node.text.size()) + " bits";
    case PickleKind::set:
      return "a set";
    case PickleKind::text:
      return "a text of " + std::to_string(node.text.size()) + " bytes";
    case PickleKind::tuple:
    case PickleKind::list:
      return "a list of " + std::to_string(node.items.size());
    case PickleKind::dict:
      return node.items.empty() ? "an empty dict" : "a dict of " + std::to_string(node.items.size() / 2);
    default:
      if (const auto bytes = bytes_of_array(pickle, id)) return "a NumPy array of " + format_bytes(*bytes);
      return made_class(pickle, id);
  }
}

}  // namespace ckpt::torch
