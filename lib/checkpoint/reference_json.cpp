#include "checkpoint/reference_json.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <utility>

#include "base/json.hpp"
#include "layout/parse_node.hpp"

namespace ckpt {

namespace {

using parsing::Node;

constexpr const char* weight_map_key = "weight_map";

const JsonRules& reference_rules() {
  static const JsonRules rules{
      Kind::layout, "a reference",
      "a reference is a checkpoint, a safetensors index, or JSON of the form {\"name\": {\"shape\": [2, 3], \"dtype\": "
      "\"bf16\"}}"};
  return rules;
}

/// What numpy and torch call our dtypes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> other_names{{
    {"float64", "f64"}, {"double", "f64"},    {"float32", "f32"},         {"float", "f32"},
    {"float16", "f16"}, {"half", "f16"},      {"bfloat16", "bf16"},       {"float8_e4m3fn", "f8_e4m3"},
    {"int8", "i8"},     {"int16", "i16"},     {"float8_e5m2", "f8_e5m2"}, {"int32", "i32"},
    {"int64", "i64"},   {"uint8", "u8"},      {"uint16", "u16"},          {"uint32", "u32"},
    {"uint64", "u64"},  {"complex64", "c64"}, {"complex128", "c128"},
}};

DType dtype_at(const Node& node) {
  std::string name = node.text();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name.starts_with("torch.")) name.erase(0, 6);
  const auto other =
      std::find_if(other_names.begin(), other_names.end(), [&](const auto& pair) { return pair.first == name; });
  if (other != other_names.end()) name = other->second;
  if (auto dtype = number_type(name)) return *dtype;
  node.fail("the name of a dtype, such as bf16, f32 or i64");
}

Tensor tensor_at(const std::string& name, const Node& node) {
  node.check_keys({"shape", "dtype"}, 2);
  const Node shape = node.member("shape");
  const std::vector<std::uint64_t> sizes = shape.numbers();
  if (sizes.size() > max_rank)
    shape.fail(std::to_string(sizes.size()) + " dimensions", "at most " + std::to_string(max_rank));
  Tensor tensor{name, dtype_at(node.member("dtype")), Extents(std::span<const std::uint64_t>(sizes)), false};
  try {
    tensor.bytes();
  } catch (const Error&) {
    shape.fail("fewer than 2^64 bytes");
  }
  return tensor;
}

/// A file beside the index: no other is ever looked at.
std::string file_at(const Node& node) {
  const std::string name = node.text();
  if (name == "." || name == ".." || name.find('/') != std::string::npos || name.find('\0') != std::string::npos)
    node.fail("the name of a file beside the index");
  return name;
}

}  // namespace

std::variant<WeightMap, std::vector<Tensor>> parse_reference(const std::string& text, const std::string& origin) {
  const nlohmann::json json = parse_json(text, origin, reference_rules());
  const Node root(json, origin);
  const std::vector<std::string> names = root.keys();
  if (names.empty()) root.fail("no tensor", "at least one", reference_rules().remedy);
  if (root.has("ckpt_layout"))
    root.fail("a layout", "a checkpoint, a safetensors index or {name: {shape, dtype}}",
              "a layout says how tensors are cut, not which there are");
  if (root.has(weight_map_key)) {
    const Node map = root.member(weight_map_key);
    WeightMap index;
    for (const std::string& name : map.keys()) index.file_of[name] = file_at(map.member(name));
    if (index.file_of.empty()) map.fail("no tensor", "at least one");
    return index;
  }
  std::vector<Tensor> tensors;
  tensors.reserve(names.size());
  for (const std::string& name : names) tensors.push_back(tensor_at(name, root.member(name)));
  return tensors;
}

}  // namespace ckpt
