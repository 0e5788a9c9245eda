#include "output/value_names.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "frameworks/tree_fit.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/dcp/path_tree.hpp"

namespace ckpt {

namespace {

ValuePlace split(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

/// Whether attributes are values of a tree. A DCP directory's tree has the values of all its files, although only the
/// first one represents it.
bool is_of_tree(const Schema& schema) {
  return schema.has_tree || schema.format == torch::dcp_format;
}

/// Names in DCP's safetensors that describe where a file's pieces lie, which is true of no other file.
bool says_cut(std::string_view name) {
  return name == "DCP_SHARDING_INFO" || name == "DCP_VERSION";
}

/// Names of the number of ranks, and of the rank that wrote the file: "world_size", "tensor_model_parallel_size",
/// "tp_rank".
bool says_ranks(std::string_view name) {
  static const std::set<std::string, std::less<>> known{
      "world_size",  "world_rank", "global_rank", "local_rank", "num_shards",    "shard_count", "shard_id",
      "shard_index", "shard_rank", "num_ranks",   "mesh_shape", "shard_offsets", "tp_size",     "tp_rank",
      "pp_size",     "pp_rank",    "dp_size",     "dp_rank",    "ep_size",       "ep_rank",     "cp_size",
      "cp_rank",     "sp_size",    "sp_rank",     "mp_size",    "mp_rank",       "fsdp_size",   "fsdp_rank"};
  return known.contains(name) || name.ends_with("_world_size") || name.ends_with("parallel_size") ||
         name.ends_with("parallel_rank");
}

/// DeepSpeed's readers look at them in its own directories alone, where TreeFit updates them.
bool says_ranks_to_deepspeed(std::string_view path) {
  return path == "dp_world_size" || path == "mp_world_size";
}

/// Where an array's piece lies in the whole, as Megatron and others write it beside the piece.
bool says_place(std::string_view name) {
  static const std::set<std::string, std::less<>> known{"partition_dim",         "partition_stride", "partition_sizes",
                                                        "tensor_model_parallel", "local_shape",      "local_offset",
                                                        "global_offset",         "shard_offset"};
  return known.contains(name) || says_ranks(name);
}

}  // namespace

std::optional<std::string> new_value_name(const NewName& new_name, const Schema& schema, const std::string& path) {
  if (!new_name) return path;
  if (schema.format != torch::dcp_format) return new_name(path);
  const torch::DcpPath keys = torch::dcp_path(path);
  const std::string dotted = torch::dcp_name(keys);
  const auto other = new_name(dotted);
  if (!other) return std::nullopt;
  return *other == dotted ? path : torch::tree_name(torch::renamed_path(*other, keys));
}

std::set<std::string> left_out_values(const std::vector<const Schema*>& schemas, bool has_other_cards) {
  std::set<std::string> names;
  const auto look = [&](const std::vector<Attribute>& attributes) {
    for (const Attribute& attribute : attributes)
      if (says_cut(attribute.name) || (has_other_cards && says_ranks(attribute.name))) names.insert(attribute.name);
  };
  for (const Schema* const schema : schemas) {
    if (is_of_tree(*schema)) continue;
    look(schema->attributes);
    for (const Group& group : schema->groups) look(group.attributes);
  }
  return names;
}

std::set<std::string> kept_values(const std::vector<const Schema*>& schemas, bool has_other_cards) {
  std::set<std::string> names;
  if (!has_other_cards) return names;
  const auto look = [&](const std::string& group, const std::vector<Attribute>& attributes) {
    for (const Attribute& attribute : attributes) {
      const std::string path = group.empty() ? attribute.name : group + "/" + attribute.name;
      if (says_ranks(attribute.name) && !follows_from_ranks(path) && !says_ranks_to_deepspeed(path)) names.insert(path);
    }
  };
  for (const Schema* const schema : schemas) {
    if (!is_of_tree(*schema)) continue;
    look("", schema->attributes);
    for (const Group& group : schema->groups) look(group.path, group.attributes);
  }
  return names;
}

std::vector<Attribute> without_places(const std::vector<Attribute>& attributes, std::set<std::string>& left_out) {
  std::vector<Attribute> kept;
  for (const Attribute& attribute : attributes)
    if (says_place(attribute.name))
      left_out.insert(attribute.name);
    else
      kept.push_back(attribute);
  return kept;
}

ValuePlace below_prefix(const std::string& prefix, const std::string& group, const std::string& name) {
  if (!group.empty()) return {prefix + group, name};
  ValuePlace place = split(prefix);
  place.name += name;
  return place;
}

ValueNames::ValueNames(const Planner& planner, const NewName& new_name, const std::vector<Pattern>& dropped)
    : new_name_(new_name),
      dropped_(dropped),
      has_other_cards_(!(planner.source().mesh() == planner.target().mesh())),
      prefixes_are_dicts_(planner.source().layout().rename.empty()) {
  if (!new_name) return;
  for (ParameterId p = 0; p < planner.target().tensors().size(); ++p)
    taken_.insert(planner.source().tensors()[planner.source_of(p)].name);
}

std::optional<ValuePlace> ValueNames::operator()(const Schema& schema, ValuePlace place) const {
  const bool is_in_tree = is_of_tree(schema);
  if (!is_in_tree && (says_cut(place.name) || (has_other_cards_ && says_ranks(place.name)))) return std::nullopt;
  if (!new_name_) return place;
  const std::string name = place.group.empty() ? place.name : place.group + "/" + place.name;
  const auto other = new_value_name(new_name_, schema, name);
  if (!is_in_tree) {
    const bool is_dropped = std::ranges::any_of(dropped_, [&](const Pattern& each) { return each.matches(name); });
    const auto below = taken_.lower_bound(place.group + "/");
    const bool has_parameters = below != taken_.end() && below->starts_with(place.group + "/");
    if (is_dropped || !(other || place.group.empty() || has_parameters)) return std::nullopt;
    if (!other || place.group.empty()) return place;
  }
  if (!other) return std::nullopt;
  if (*other == name) return place;
  if (other->ends_with("/" + place.name))
    return ValuePlace{other->substr(0, other->size() - place.name.size() - 1), place.name};
  return *other == place.name ? ValuePlace{"", place.name} : split(*other);
}

}  // namespace ckpt
