#include "store/torch/placed_items.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "store/guarded_reading.hpp"
#include "store/pickle/pickle_fields.hpp"
#include "store/torch/distributed.hpp"

namespace ckpt::torch {

namespace {

constexpr std::uint64_t most_items_bytes = 512U << 20;
constexpr std::uint64_t memory_per_items_byte = 96;
constexpr std::uint64_t items_bytes_per_second = 256U << 10;
constexpr std::uint64_t most_ranks = 1U << 20;

[[noreturn]] void refuse_items(std::string_view object, const std::string& found, const std::string& expected) {
  throw Error(Kind::input, object,
              {found, expected, "is the file damaged, or of a newer version of torch_checkpointing?"});
}

template <class Visit>
void for_each_pair_of(const Pickle& pickle, PickleId dict, const char* what, const Visit& visit) {
  const PickleNode& node = pickle[dict];
  if (node.kind != PickleKind::dict) refuse_items(what, "is no dict", "a dict");
  for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) visit(node.items[i], node.items[i + 1]);
}

/// '["layers",0,"weight"]' → layers.0.weight, as the files of safetensors have it.
std::string dotted(std::string_view path) {
  const nlohmann::json keys = parse_json(std::string(path), std::string(path), {Kind::input, "a list of keys", ""});
  if (!keys.is_array()) refuse_items(path, "is no list", "a list of keys");
  std::string name;
  for (const auto& key : keys) {
    if (!name.empty()) name += '.';
    name += key.is_string() ? key.get<std::string>() : key.dump();
  }
  return name;
}

/// Whether a path names a file of the directory or below it.
bool is_within(const std::filesystem::path& path) {
  return path.has_filename() && path.is_relative() && path == path.lexically_normal() && *path.begin() != ".." &&
         path != "." && path.native().find('\0') == std::string::npos;
}

std::string_view type_in(const Pickle& pickle, PickleId typed) {
  return text_of(pickle, need_field(pickle, typed, "type"), "a type");
}

/// Axes of a mesh of all ranks, without anybody's coordinates.
std::vector<MeshAxis> axes_of(const Pickle& pickle, PickleId mesh) {
  std::vector<MeshAxis> axes;
  for (const std::uint64_t size : whole_numbers(pickle, need_field(pickle, mesh, "mesh_shape"), "a mesh's shape"))
    axes.push_back({"", size, 0, 0});
  const PickleId names = field_of(pickle, mesh, "mesh_dim_names");
  if (names == no_node || is_none(pickle, names)) return axes;
  const auto& items = items_in(pickle, names, "a mesh's names");
  if (items.size() != axes.size())
    refuse_items("a mesh", "has " + std::to_string(items.size()) + " names", std::to_string(axes.size()));
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i].name = text_of(pickle, items[i], "the name of a mesh's axis");
  return axes;
}

/// One box on each rank, which is all of the rank's array.
void place_box(const Pickle& pickle, PickleId data, PlacedTensor& tensor) {
  const auto only = [&](const char* name) {
    const auto& lists = items_in(pickle, need_field(pickle, data, name), name);
    if (lists.size() != 1) refuse_items("", "has " + std::to_string(lists.size()) + " boxes on a rank", "one");
    return whole_numbers(pickle, lists.front(), name);
  };
  const Shape local = only("local_offsets");
  if (std::any_of(local.begin(), local.end(), [](std::uint64_t at) { return at != 0; }))
    refuse_items("", "has a box that begins at " + to_string(local) + " of a rank's array", "one that is all of it");
  tensor.piece.origin = only("global_offsets");
}

PlacedTensor placed_tensor(const Pickle& pickle, std::string name, PickleId group) {
  const PickleId placed = need_field(pickle, group, "sharding_metadata");
  const PickleId data = need_field(pickle, placed, "data");
  const std::string_view type = type_in(pickle, placed);
  PlacedTensor tensor{
      std::move(name), whole_numbers(pickle, need_field(pickle, data, "global_shape"), "a shape"), {}, {}};
  if (type == "default_tensor_v1") {
    const Shape ranks = whole_numbers(pickle, need_field(pickle, group, "ranks"), "its ranks");
    tensor.ranks.assign(ranks.begin(), ranks.end());
    place_box(pickle, data, tensor);
    return tensor;
  }
  if (type != "DTensorShardingMetadata")
    refuse_items("", "is placed as " + std::string(type), "as a DTensor, or in boxes");
  const PickleId mesh = need_field(pickle, data, "mesh_spec");
  const Shape ranks = whole_numbers(pickle, need_field(pickle, mesh, "mesh_data"), "a mesh's ranks");
  tensor.ranks.assign(ranks.begin(), ranks.end());
  tensor.piece.mesh = axes_of(pickle, mesh);
  tensor.piece.split.resize(tensor.shape.size());
  const auto& placements = items_in(pickle, need_field(pickle, data, "placements"), "its placements");
  std::uint64_t positions = 1;
  for (const MeshAxis& axis : tensor.piece.mesh) positions = checked_mul(positions, axis.size, "a mesh");
  if (placements.size() != tensor.piece.mesh.size() || positions != tensor.ranks.size())
    refuse_items("",
                 "has " + std::to_string(placements.size()) + " placements on a mesh of " +
                     std::to_string(tensor.piece.mesh.size()) + " axes with " + std::to_string(ranks.size()) + " ranks",
                 "a placement for each axis, and a rank for each of its " + std::to_string(positions) + " positions");
  cut_by(pickle, placements, type_in, tensor.piece);
  return tensor;
}

/// Files of other forms than safetensors describe themselves, or hold no tensors.
std::vector<std::string> files_of(const Pickle& pickle, PickleId by_rank) {
  std::vector<std::string> files;
  for_each_pair_of(pickle, by_rank, "rank_to_layout_info", [&](PickleId key, PickleId value) {
    if (is_none(pickle, value)) return;
    const std::uint64_t rank = whole_number(pickle, key, "a rank");
    if (rank >= most_ranks) refuse_items("", "rank " + std::to_string(rank), "one below " + std::to_string(most_ranks));
    if (type_in(pickle, need_field(pickle, value, "serialization_format")) != "SafetensorsSerialization") return;
    const std::string_view path = text_of(pickle, need_field(pickle, value, "file_path"), "a file's path");
    if (!is_within(path)) refuse_items("", "names the file \"" + std::string(path) + "\"", "one in its directory");
    files.resize(std::max<std::size_t>(files.size(), rank + 1));
    files[rank] = path;
  });
  return files;
}

PlacedItem placed_item(const Pickle& pickle, PickleId id) {
  PlacedItem item;
  item.files = files_of(pickle, need_field(pickle, id, "rank_to_layout_info"));
  if (item.files.empty()) return item;
  for_each_pair_of(pickle, need_field(pickle, id, "nested_path_to_metadata"), "nested_path_to_metadata",
                   [&](PickleId key, PickleId groups) {
                     const std::string name = dotted(text_of(pickle, key, "a tensor's path"));
                     with_context("/" + name, [&] {
                       for (const PickleId group : items_in(pickle, groups, "its groups of ranks"))
                         item.tensors.push_back(placed_tensor(pickle, name, group));
                     });
                   });
  return item;
}

std::vector<PlacedItem> items_in_file(const PosixFile& file, std::uint64_t file_bytes) {
  const std::string bytes = file.text(0, file_bytes);
  std::size_t at = 0;
  const auto pickle = Pickle::read(bytes, at);
  if (!pickle) throw Error(Kind::input, "", {"ends before its object does", "a whole one", "is the file truncated?"});
  return parse_placed_items(*pickle);
}

}  // namespace

bool PlacedItem::is_consistent() const {
  return std::ranges::all_of(tensors, [](const PlacedTensor& tensor) {
    const Piece& piece = tensor.piece;
    std::uint64_t positions = 1;
    for (const MeshAxis& axis : piece.mesh) positions = checked_mul(positions, axis.size);
    return (piece.mesh.empty() || positions == tensor.ranks.size()) &&
           std::ranges::all_of(piece.split, [&](const auto& axes) {
             return std::ranges::all_of(axes, [&](std::uint64_t axis) { return axis < piece.mesh.size(); });
           });
  });
}

std::optional<Piece> piece_of_rank(const PlacedTensor& tensor, std::uint64_t rank) {
  const auto found = std::ranges::find(tensor.ranks, rank);
  if (found == tensor.ranks.end()) return std::nullopt;
  Piece piece = tensor.piece;
  auto position = static_cast<std::uint64_t>(found - tensor.ranks.begin());
  for (std::size_t axis = piece.mesh.size(); axis-- > 0;) {
    piece.mesh[axis].coordinate = position % piece.mesh[axis].size;
    position /= piece.mesh[axis].size;
  }
  return piece;
}

bool begins_as_placed_items(const std::filesystem::path& path) {
  constexpr std::uint64_t first_bytes = 4096;
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::string begin = file.text(0, std::min(file.status().bytes, first_bytes));
  return begin.starts_with('\x80') && begin.find("nested_path_to_metadata") != std::string::npos;
}

std::vector<PlacedItem> parse_placed_items(const Pickle& pickle) {
  const std::string_view version = text_of(pickle, need_field(pickle, pickle.root(), "version"), "its version");
  if (version != "2.0") refuse_items("", "is of version " + std::string(version), "2.0");
  std::vector<PlacedItem> items;
  for_each_pair_of(
      pickle, need_field(pickle, pickle.root(), "metadata"), "metadata", [&](PickleId key, PickleId value) {
        with_context(text_of(pickle, key, "an item's name"), [&] { items.push_back(placed_item(pickle, value)); });
      });
  return items;
}

std::vector<PlacedItem> read_placed_items(const std::filesystem::path& path) {
  const PosixFile file = PosixFile::open_for_reading(path);
  const std::uint64_t bytes = file.status().bytes;
  return with_file(path.string(), [&] {
    if (bytes > most_items_bytes)
      throw Error(Kind::input, "", {"has " + format_bytes(bytes), "at most " + format_bytes(most_items_bytes), ""});
    return read_guarded<items_in_file>(file, bytes, "torch",
                                       limits_for(bytes, memory_per_items_byte, items_bytes_per_second));
  });
}

}  // namespace ckpt::torch
