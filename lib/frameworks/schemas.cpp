#include "frameworks/schemas.hpp"

#include <map>
#include <utility>

namespace ckpt {

namespace {

std::vector<Attribute> merged_attributes(const std::vector<Attribute>& own, const std::vector<Attribute>& other) {
  std::map<std::string, Value> values;
  for (const auto* list : {&own, &other})
    for (const Attribute& attribute : *list) values.emplace(attribute.name, attribute.value);
  std::vector<Attribute> merged;
  merged.reserve(values.size());
  for (auto& [name, value] : values) merged.push_back({name, std::move(value)});
  return merged;
}

}  // namespace

std::shared_ptr<const Schema> empty_schema(const std::string& format) {
  Schema schema;
  schema.format = format;
  schema.arrays = std::make_shared<const std::vector<StoredArray>>();
  return std::make_shared<const Schema>(std::move(schema));
}

std::shared_ptr<const Schema> with_attributes_of(const Schema& schema, const Schema& other) {
  Schema merged = schema;
  merged.attributes = merged_attributes(schema.attributes, other.attributes);
  std::map<std::string, std::vector<Attribute>> groups;
  for (const Group& group : schema.groups) groups.emplace(group.path, group.attributes);
  for (const Group& group : other.groups) {
    const auto [known, is_new] = groups.emplace(group.path, group.attributes);
    if (!is_new) known->second = merged_attributes(known->second, group.attributes);
  }
  merged.groups.clear();
  for (auto& [path, attributes] : groups) merged.groups.push_back({path, std::move(attributes)});
  return std::make_shared<const Schema>(std::move(merged));
}

std::shared_ptr<const Schema> with_leaves(const Schema& schema, std::vector<Leaf> leaves) {
  Schema made = schema;
  made.leaves = std::move(leaves);
  return std::make_shared<const Schema>(std::move(made));
}

}  // namespace ckpt
