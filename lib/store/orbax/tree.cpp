#include "store/orbax/tree.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"

namespace ckpt::orbax {

namespace {

using Json = nlohmann::json;

/// A tree of 10^5 arrays has 10^6 values.
constexpr std::size_t most_values = std::size_t{1} << 26;

TreeLeaf leaf_of(const Json& json) {
  TreeLeaf leaf;
  for (const Json& key : json.at("keys"))
    leaf.keys.push_back({key.at(0).get<std::string>(), static_cast<KeyType>(std::min(key.at(1).get<unsigned>(), 2U))});
  if (leaf.keys.empty()) throw Error(Kind::input, "a leaf", {"no keys", "at least one", ""});
  leaf.type = json.at("type").get<std::string>();
  leaf.is_array = json.at("is_array").get<bool>();
  leaf.text = json.value("text", "");
  return leaf;
}

}  // namespace

std::string name_of(const TreeLeaf& leaf) {
  std::string name;
  for (const TreeKey& key : leaf.keys) name += (&key == &leaf.keys.front() ? "" : ".") + key.key;
  return name;
}

TreeLeaf leaf_named(std::string_view name) {
  TreeLeaf leaf;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    leaf.keys.push_back({std::string(name.substr(at, end - at)), KeyType::unknown});
    at = end + 1;
  }
  return leaf;
}

std::string tree_of(const std::vector<TreeLeaf>& leaves) {
  Json tree = Json::array();
  for (const TreeLeaf& leaf : leaves) {
    Json keys = Json::array();
    for (const TreeKey& key : leaf.keys) keys.push_back({key.key, static_cast<unsigned>(key.type)});
    Json made{{"keys", std::move(keys)}, {"type", leaf.type}, {"is_array", leaf.is_array}};
    if (!leaf.text.empty()) made["text"] = leaf.text;
    tree.push_back(std::move(made));
  }
  return tree.dump();
}

std::vector<TreeLeaf> leaves_in(const std::string& tree) {
  const JsonRules rules{Kind::input, "a tree of Orbax", "take another copy of the file", 8, most_values};
  const Json json = parse_json(tree, "its tree", rules);
  std::vector<TreeLeaf> leaves;
  try {
    for (const Json& each : json) leaves.push_back(leaf_of(each));
  } catch (const Json::exception& error) {
    throw Error(Kind::input, "its tree",
                {"another form (" + std::string(error.what()) + ")", "leaves with their keys", rules.remedy});
  }
  return leaves;
}

std::string chosen_tree(
    const std::string& tree,
    const std::function<std::optional<std::string>(const std::string& name, bool is_array)>& new_name) {
  std::vector<TreeLeaf> chosen;
  for (TreeLeaf& leaf : leaves_in(tree)) {
    const std::string name = name_of(leaf);
    const auto other = new_name(name, leaf.is_array);
    if (!other) continue;
    if (*other != name) leaf.keys = leaf_named(*other).keys;
    chosen.push_back(std::move(leaf));
  }
  return tree_of(chosen);
}

}  // namespace ckpt::orbax
