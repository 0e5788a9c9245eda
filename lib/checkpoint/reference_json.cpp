#include "checkpoint/reference_json.hpp"

#include <span>
#include <utility>

#include "base/json.hpp"
#include "layout/language/parse_node.hpp"
#include "store/number_words.hpp"

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

DType dtype_at(const Node& node) {
  if (auto dtype = type_by_word(node.text())) return *std::move(dtype);
  node.fail("the name of a dtype, such as bf16, f32 or i64");
}

Tensor tensor_at(const std::string& name, const Node& node) {
  if (node.is_list())
    node.fail("a list of sizes", "its shape and its dtype",
              "write {\"shape\": " + node.describe() + ", \"dtype\": \"f32\"}, with its own dtype");
  node.check_keys({"shape", "dtype"}, {"shape", "dtype"});
  const Node shape = node.member("shape");
  const std::vector<std::uint64_t> sizes = shape.numbers();
  if (sizes.size() > max_rank)
    shape.fail(std::to_string(sizes.size()) + " dimensions", "at most " + std::to_string(max_rank));
  Tensor tensor{name, dtype_at(node.member("dtype")), Shape(std::span<const std::uint64_t>(sizes)), false};
  try {
    tensor.bytes();
  } catch (const Error&) {
    shape.fail("fewer than 2^64 bytes");
  }
  return tensor;
}

/// The name of a file beside the index: no other file is ever opened.
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
