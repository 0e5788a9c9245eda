#include "property/layout_text.hpp"

#include <algorithm>

namespace model {

namespace {

/// "tp", or in a list of one.
Json axes_json(Choices& choices, const Mesh& mesh, const std::vector<std::size_t>& axes) {
  if (axes.empty()) return nullptr;
  if (axes.size() == 1 && !choices.chance(20)) return mesh.axes[axes[0]];
  Json list = Json::array();
  for (const std::size_t axis : axes) list.push_back(mesh.axes[axis]);
  return list;
}

const char* word(Uneven uneven) {
  switch (uneven) {
    case Uneven::exact:
      return "exact";
    case Uneven::ceil:
      return "ceil";
    case Uneven::balanced:
      return "balanced";
  }
  return "";
}

void put_split(Choices& choices, const Mesh& mesh, const Keys& keys, Json& json) {
  std::size_t size = keys.split.size();
  while (size > 0 && keys.split[size - 1].empty() && !choices.chance(30)) --size;
  if (size == 0 && (!keys.boxes.empty() || !choices.chance(30))) return;
  Json& split = json["split"] = Json::array();
  for (std::size_t dim = 0; dim < size; ++dim) split.push_back(axes_json(choices, mesh, keys.split[dim]));
}

void put_parts_and_pad(Choices& choices, const Keys& keys, Json& json) {
  if (keys.parts) {
    json["parts"] = {{"dim", keys.parts->dim}};
    if (keys.parts->sizes.empty())
      json["parts"]["count"] = keys.parts->count;
    else
      json["parts"]["sizes"] = keys.parts->sizes;
  }
  for (const auto& [dim, pad] : keys.pad) {
    Json& entry = json["pad"][std::to_string(dim)];
    entry["size"] = pad.size;
    if (pad.multiple_of != 1 || choices.chance(20)) entry["multiple_of"] = pad.multiple_of;
    if (pad.edge || choices.chance(20)) entry["fill"] = pad.edge ? "edge" : "zero";
  }
}

}  // namespace

std::string as_pattern(const std::string& name) {
  std::string pattern;
  for (const char c : name)
    pattern += std::string("*?[{").find(c) == std::string::npos ? std::string(1, c) : std::string("[") + c + "]";
  return pattern;
}

Json at_json(Choices& choices, const Mesh& mesh, const At& at) {
  Json json = Json::object();
  for (const auto& [axis, coordinates] : at) {
    if (coordinates.size() == 1 && !choices.chance(30))
      json[mesh.axes[axis]] = coordinates[0];
    else
      json[mesh.axes[axis]] = coordinates;
  }
  return json;
}

Json keys_json(Choices& choices, const Mesh& mesh, const Keys& keys, const Numbers& shape) {
  Json json = Json::object();
  put_split(choices, mesh, keys, json);
  if (keys.uneven != Uneven::exact || (keys.boxes.empty() && choices.chance(20))) json["uneven"] = word(keys.uneven);
  for (const auto& [dim, sizes] : keys.sizes) json["sizes"][std::to_string(dim)] = sizes;
  put_parts_and_pad(choices, keys, json);
  if (keys.flat) {
    json["flat"]["axis"] = mesh.axes[keys.flat->axis];
    if (keys.flat->multiple_of != 1 || choices.chance(20)) json["flat"]["multiple_of"] = keys.flat->multiple_of;
  }
  if (keys.gives_shape) json["shape"] = shape;
  if (!keys.permute.empty()) json["permute"] = keys.permute;
  if (!keys.at.empty()) json["at"] = at_json(choices, mesh, keys.at);
  for (const auto& [position, sides] : keys.boxes) {
    const std::uint64_t card = mesh.cards.empty() ? position : mesh.cards[position];
    json["boxes"][std::to_string(card)] = sides;
  }
  if (keys.first_replica) json["replicas"] = "first";
  return json;
}

Json mesh_json(const Mesh& mesh) {
  Json json{{"axes", mesh.axes}, {"shape", mesh.shape}};
  if (!mesh.cards.empty()) json["cards"] = mesh.cards;
  return json;
}

Json rename_json(const std::vector<Rename>& rename) {
  Json json = Json::array();
  for (const Rename& r : rename)
    json.push_back({{"stored", as_pattern(r.stored_prefix) + "{x}" + as_pattern(r.stored_suffix)},
                    {"name", as_pattern(r.name_prefix) + "{x}" + as_pattern(r.name_suffix)}});
  return json;
}

Json index_json(Choices& choices, const Mesh& mesh, const Index& index) {
  Json json{{"in", index.counter == 0 ? "*layers.{i}.*" : "*.experts.{i}.*"}, {"axis", mesh.axes[index.axis]}};
  if (choices.chance(index.counts.empty() ? 60 : 30)) json["total"] = index.total;
  if (index.is_local || choices.chance(50)) json["numbering"] = index.is_local ? "local" : "global";
  if (index.first != 0) json["first"] = index.first;
  if (!index.counts.empty()) json["counts"] = index.counts;
  if (index.chunks != 1) json["virtual"] = index.chunks;
  return json;
}

Json bucket_json(Choices& choices, const Mesh& mesh, const Bucket& bucket, const std::vector<Tensor>& tensors) {
  Json json{{"name", bucket.name}, {"axis", mesh.axes[bucket.axis]}};
  if (bucket.align != 1 || choices.chance(20)) json["align"] = bucket.align;
  if (bucket.multiple_of != 1 || choices.chance(20)) json["multiple_of"] = bucket.multiple_of;
  if (bucket.multiple_of_each != 1 || choices.chance(20)) json["multiple_of_each"] = bucket.multiple_of_each;
  if (bucket.last_is_short) json["last"] = "short";
  if (!bucket.at.empty()) json["at"] = at_json(choices, mesh, bucket.at);
  const bool are_plain = std::all_of(bucket.members.begin(), bucket.members.end(),
                                     [](const Member& member) { return member.keys.is_plain(); });
  if (are_plain && choices.chance(50)) {
    Json& members = json["members"] = {{"as", "{param}"}};
    for (const Member& member : bucket.members) {
      const std::string name = logical_name(tensors[member.tensor]);
      members["params"].push_back(name);
      members["shapes"][as_pattern(name)] = tensors[member.tensor].shape;
    }
    return json;
  }
  for (const Member& member : bucket.members) {
    const Tensor& tensor = tensors[member.tensor];
    Json entry{{"name", logical_name(tensor)}};
    if (member.like) entry["like"] = logical_name(tensors[*member.like]);
    if (!member.like || choices.chance(20)) entry["shape"] = tensor.shape;
    if (!member.like) entry.update(keys_json(choices, mesh, member.keys, tensor.shape));
    json["members"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace model
