#include "store/torch/distributed.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "store/pickle/pickle_fields.hpp"
#include "store/torch/element_types.hpp"

namespace ckpt::torch {

namespace {

[[noreturn]] void refuse_distributed(const std::string& found, const std::string& expected, const std::string& remedy) {
  throw Error(Kind::input, "", {found, expected, remedy});
}

/// Returns an attribute that different versions call by different names; no_node if there is none.
template <std::size_t N>
PickleId any_field(const Pickle& pickle, PickleId object, const std::array<std::string_view, N>& names) {
  for (const std::string_view name : names)
    if (const PickleId found = field_of(pickle, object, name); found != no_node && !is_none(pickle, found))
      return found;
  return no_node;
}

std::optional<std::vector<MeshAxis>> mesh_axes(const Pickle& pickle, PickleId mesh, std::size_t count) {
  const PickleId coordinate = any_field(pickle, mesh, std::array<std::string_view, 1>{"_coordinate_on_dim"});
  if (coordinate == no_node) return std::nullopt;
  const Shape at = whole_numbers(pickle, coordinate, "a rank's coordinates");
  const PickleId names = any_field(pickle, mesh, std::array<std::string_view, 2>{"_mesh_dim_names", "mesh_dim_names"});
  const std::vector<PickleId>* const named = names == no_node ? nullptr : &items_in(pickle, names, "a mesh's names");
  if (at.size() != count || (named != nullptr && named->size() != count))
    refuse_distributed("a mesh of " + std::to_string(at.size()) + " axes and " + std::to_string(count) + " placements",
                       "one placement for each axis", "is it of a newer version?");
  std::vector<MeshAxis> axes(count);
  for (std::size_t i = 0; i < count; ++i) {
    axes[i].coordinate = at[i];
    axes[i].size = at[i] + 1;  // a lower bound, which the other ranks' files correct
    if (named != nullptr) axes[i].name = text_of(pickle, (*named)[i], "the name of a mesh's axis");
  }
  return axes;
}

/// Returns the dimension that an axis cuts.
std::uint64_t dimension_of(const Pickle& pickle, PickleId placement, std::size_t rank) {
  const std::uint64_t dim = whole_number(pickle, need_field(pickle, placement, "dim"), "a placement's dimension");
  if (dim >= rank)
    refuse_distributed("a placement along dimension " + std::to_string(dim),
                       "one of the tensor's " + std::to_string(rank), "is the file damaged?");
  return dim;
}

}  // namespace

DType dtype_in(const Pickle& pickle, PickleId properties) {
  const PickleNode& node = pickle[properties];
  PickleId id = field_of(pickle, properties, "dtype");
  if (id == no_node && node.kind == PickleKind::call && node.state != no_node &&
      pickle[node.state].kind == PickleKind::tuple && !pickle[node.state].items.empty())
    id = pickle[node.state].items.front();
  const std::string_view type = id == no_node ? std::string_view("nothing") : pickle.name_of(id);
  const auto dtype = element_type(type);
  if (!dtype)
    refuse_distributed("elements of type " + std::string(type), "a dtype of torch whose elements fill whole bytes", "");
  return *dtype;
}

void cut_by(const Pickle& pickle, const std::vector<PickleId>& placements, KindOfPlacement kind_of, Piece& piece) {
  const std::size_t rank = piece.split.size();
  std::vector<std::uint64_t> later;
  for (std::uint64_t axis = 0; axis < placements.size(); ++axis) {
    const std::string_view kind = kind_of(pickle, placements[axis]);
    if (kind == "Shard") {
      piece.split[dimension_of(pickle, placements[axis], rank)].push_back(axis);
    } else if (kind == "_StridedShard" || kind == "StridedShard") {
      piece.mesh[axis].split_factor =
          whole_number(pickle, need_field(pickle, placements[axis], "split_factor"), "a placement's split factor");
      later.push_back(axis);
    } else if (kind != "Replicate") {
      refuse_distributed("a DTensor whose placement is " + std::string(kind), "Shard or Replicate",
                         "save it redistributed: each card holds a part of its sum only");
    }
  }
  // A strided shard is cut after the axes to its right, which precede it although their coordinates vary faster.
  for (auto axis = later.rbegin(); axis != later.rend(); ++axis)
    piece.split[dimension_of(pickle, placements[*axis], rank)].push_back(*axis);
}

LocalTensor local_of_dtensor(const Pickle& pickle, PickleId state, const Shape& global_shape) {
  LocalTensor found{field_of(pickle, state, "_local_tensor"), global_shape, {}, {}};
  if (found.tensor == no_node) refuse_distributed("a DTensor without a local tensor", "one that torch has saved", "");
  const PickleId spec = field_of(pickle, state, "_spec");
  const PickleId placed = spec == no_node ? no_node : field_of(pickle, spec, "placements");
  const PickleId mesh = spec == no_node ? no_node : field_of(pickle, spec, "mesh");
  if (placed == no_node || mesh == no_node) return found;
  const auto& placements = items_in(pickle, placed, "its placements");
  auto axes = mesh_axes(pickle, mesh, placements.size());
  if (!axes) return found;
  Piece& piece = found.piece.emplace();
  piece.mesh = std::move(*axes);
  piece.split.resize(global_shape.size());
  cut_by(pickle, placements, class_of, piece);
  return found;
}

LocalTensor local_of_sharded_tensor(const Pickle& pickle, PickleId state) {
  const auto& parts = items_in(pickle, state, "the state of a ShardedTensor");
  if (parts.size() < 2)
    refuse_distributed("a ShardedTensor of another form", "(shards, metadata, ...)", "is it of a newer version?");
  LocalTensor found;
  found.global_shape = whole_numbers(pickle, need_field(pickle, parts[1], "size"), "its size");
  const auto& shards = items_in(pickle, parts[0], "its shards");
  if (shards.size() > 1)
    refuse_distributed("a ShardedTensor with " + std::to_string(shards.size()) + " shards on one rank", "one at most",
                       "save it by torch.distributed.checkpoint");
  if (shards.empty()) {
    found.dtype = dtype_in(pickle, need_field(pickle, parts[1], "tensor_properties"));
    found.piece.emplace().origin = Shape(found.global_shape.size());
    if (!found.global_shape.empty()) found.piece->origin[0] = found.global_shape[0];
    return found;
  }
  found.tensor = need_field(pickle, shards.front(), "tensor");
  const PickleId place = need_field(pickle, shards.front(), "metadata");
  found.piece.emplace().origin = whole_numbers(pickle, need_field(pickle, place, "shard_offsets"), "a shard's offsets");
  if (found.piece->origin.size() != found.global_shape.size())
    refuse_distributed("a shard of " + std::to_string(found.piece->origin.size()) + " dimensions",
                       std::to_string(found.global_shape.size()) + ", as its tensor has", "is the file damaged?");
  return found;
}

}  // namespace ckpt::torch
