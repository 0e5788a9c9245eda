#include "frameworks/rank_pieces.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

/// In the safetensors files that torch.distributed.checkpoint's ranks write: {name: {"saved_offsets": [..]}}.
constexpr const char* sharding_attribute = "DCP_SHARDING_INFO";

constexpr const char* version_attribute = "DCP_VERSION";

/// The first element's index in the whole tensor, and the tensor's shape if the file states it.
struct PieceOrigin {
  Shape offsets;
  std::optional<Shape> global_shape;
};
using PieceOrigins = std::map<std::string, PieceOrigin>;

/// A list of numbers in a file's description of a tensor. Throws input for anything else.
Shape numbers_of(const nlohmann::json& said, const char* key, const std::string& name) {
  const auto list = said.is_object() ? said.find(key) : said.end();
  if (!said.is_object() || list == said.end() || !list->is_array())
    throw Error(Kind::input, sharding_attribute, {std::string("has no ") + key + " of '" + name + "'", "a list", ""});
  Shape numbers;
  for (const auto& number : *list) {
    if (!number.is_number_unsigned())
      throw Error(Kind::input, sharding_attribute,
                  {std::string("has in ") + key + " of '" + name + "' what is no number", "whole ones", ""});
    numbers.push_back(number.get<std::uint64_t>());
  }
  return numbers;
}

/// The corners in a file's own attribute. Throws input for JSON of another form.
PieceOrigins origins_in(const Schema& schema) {
  PieceOrigins origins;
  for (const Attribute& attribute : schema.attributes) {
    if (attribute.name != sharding_attribute) continue;
    const auto json =
        parse_json(text_in(attribute.value).value_or(""), sharding_attribute, {Kind::input, "offsets", ""});
    if (!json.is_object()) throw Error(Kind::input, sharding_attribute, {"is no JSON object", "one of names", ""});
    for (const auto& [name, said] : json.items()) {
      PieceOrigin& origin = origins[name];
      origin.offsets = numbers_of(said, "saved_offsets", name);
      if (said.contains("global_shape")) origin.global_shape = numbers_of(said, "global_shape", name);
    }
  }
  return origins;
}

class FamilyTensors {
 public:
  FamilyTensors(const std::vector<std::string>& names, const std::vector<FileCatalog>& catalogs, const RankMesh& mesh)
      : names_(names), catalogs_(catalogs), mesh_(mesh) {}

  std::map<std::string, ShardedTensor> of(const RankFamily& family) const {
    std::map<std::string, ShardedTensor> tensors;
    for (std::size_t rank = 0; rank < family.files.size(); ++rank) {
      const std::size_t file = family.files[rank].file;
      with_file(names_[file], [&] {
        const Schema& schema = *catalogs_[file].schema;
        const PieceOrigins origins = origins_in(schema);
        for (std::size_t i = 0; i < schema.datasets.size(); ++i) {
          const StoredArray& array = (*schema.arrays)[i];
          ShardedTensor& tensor = tensors[array.name];
          with_context("/" + array.name, [&] { add(tensor, array, schema.datasets[i], origins, rank); });
        }
      });
    }
    return tensors;
  }

 private:
  void add(ShardedTensor& tensor, const StoredArray& array, const Dataset& dataset, const PieceOrigins& origins,
           std::size_t rank) const {
    ShardedTensor::Part part{mesh_.position(rank), {}, array.shape};
    if (dataset.piece && !dataset.piece->mesh.empty() && !mesh_.is_of_all()) {
      part.origin = mesh_.box(*dataset.piece, array.global_shape.value_or(array.shape)).lo;
    } else if (dataset.piece && !dataset.piece->mesh.empty()) {
      Keys keys = keys_of_piece(*dataset.piece);
      if (tensor.keys && text_of(*tensor.keys, mesh_.mesh()) != text_of(keys, mesh_.mesh()))
        throw Error(Kind::input, "", {"is cut otherwise than on other ranks", "the same placements on all", ""});
      tensor.keys = std::move(keys);
    } else if (dataset.piece) {
      part.origin = dataset.piece->origin;
    } else if (const auto found = origins.find(array.name); found != origins.end()) {
      part.origin = found->second.offsets;
      if (found->second.global_shape) note_shape(tensor, *found->second.global_shape, part);
    }
    if (!part.origin.empty()) {
      if (part.origin.size() != array.shape.size())
        throw Error(Kind::input, "",
                    {"has " + std::to_string(array.shape.size()) + " dimensions and offsets for " +
                         std::to_string(part.origin.size()),
                     "one for each", "is the file damaged?"});
      tensor.has_origin = true;
    }
    if (array.global_shape) tensor.global_shape = array.global_shape;
    tensor.parts.push_back(std::move(part));
  }

  /// Records the whole shape that a piece states: all pieces must state the same, and it must contain them.
  static void note_shape(ShardedTensor& tensor, const Shape& shape, const ShardedTensor::Part& part) {
    const bool is_another = tensor.global_shape && !(*tensor.global_shape == shape);
    bool is_within = shape.size() == part.shape.size() && shape.size() == part.origin.size();
    for (std::size_t d = 0; is_within && d < shape.size(); ++d)
      is_within = part.shape[d] <= shape[d] && part.origin[d] <= shape[d] - part.shape[d];
    if (is_another || !is_within)
      throw Error(
          Kind::input, "",
          {"has the global_shape " + to_string(shape),
           is_another ? to_string(*tensor.global_shape) + ", as other files say"
                      : "one that holds the piece of shape " + to_string(part.shape) + " at " + to_string(part.origin),
           "are the files those of one save?"});
    tensor.global_shape = shape;
  }

  /// How a DTensor is cut, on the mesh of all tensors.
  Keys keys_of_piece(const Piece& piece) const {
    Keys keys;
    std::vector<std::vector<Axis>> split;
    for (std::size_t dim = 0; dim < piece.split.size(); ++dim) {
      split.emplace_back();
      for (const std::uint64_t axis : piece.split[dim]) split.back().push_back(axis_of(piece, axis));
      add_parts(piece, dim, keys);
    }
    while (!split.empty() && split.back().empty()) split.pop_back();
    if (split.empty()) return keys;
    keys.split = std::move(split);
    keys.uneven = Uneven::ceil;
    return keys;
  }

  Axis axis_of(const Piece& piece, std::uint64_t axis) const {
    return *mesh_.mesh().axis(name_of_axis(piece.mesh, axis));
  }

  /// A strided axis cuts what the axes to its right leave, in as many chunks as they make; without such axes, it cuts
  /// the parts of a fused dimension.
  void add_parts(const Piece& piece, std::size_t dim, Keys& keys) const {
    for (const std::uint64_t axis : piece.split[dim]) {
      const std::uint64_t factor = piece.mesh.at(axis).split_factor;
      if (factor == 0) continue;
      const std::uint64_t chunks = mesh_.chunks_before(piece, dim, axis);
      if (factor == chunks) continue;
      if (piece.split[dim].size() > 1 || keys.parts)
        throw Error(Kind::input, "",
                    {"is cut in strides of " + std::to_string(factor) + " chunks",
                     std::to_string(chunks) + ", as the mesh's other axes make",
                     "give a layout that says how (ckpt inspect --as-layout begins one)"});
      keys.parts = Parts{dim, {}, factor};
    }
  }

  const std::vector<std::string>& names_;
  const std::vector<FileCatalog>& catalogs_;
  const RankMesh& mesh_;
};

}  // namespace

bool states_origins(const Attribute& attribute) {
  return attribute.name == sharding_attribute;
}

bool has_origins(const Attribute& attribute) {
  return states_origins(attribute) || attribute.name == version_attribute;
}

bool states_origins(const Schema& schema) {
  return std::any_of(schema.attributes.begin(), schema.attributes.end(),
                     [](const Attribute& attribute) { return states_origins(attribute); });
}

bool has_origins(const Schema& schema) {
  return std::any_of(schema.attributes.begin(), schema.attributes.end(),
                     [](const Attribute& attribute) { return has_origins(attribute); });
}

bool says_pieces(const Schema& schema) {
  return std::any_of(schema.datasets.begin(), schema.datasets.end(),
                     [](const Dataset& dataset) { return dataset.piece.has_value(); }) ||
         states_origins(schema);
}

std::optional<std::string> piece_by_origin(const Schema& schema) {
  const PieceOrigins origins = origins_in(schema);
  for (const StoredArray& array : *schema.arrays) {
    const auto found = origins.find(array.name);
    if (found == origins.end()) continue;
    const PieceOrigin& origin = found->second;
    const bool is_behind = std::any_of(origin.offsets.begin(), origin.offsets.end(), [](auto at) { return at != 0; });
    if (is_behind || (origin.global_shape && !(*origin.global_shape == array.shape))) return array.name;
  }
  return std::nullopt;
}

std::map<std::string, ShardedTensor> sharded_tensors(const RankFamily& family, const std::vector<std::string>& names,
                                                     const std::vector<FileCatalog>& catalogs, const RankMesh& mesh) {
  return FamilyTensors(names, catalogs, mesh).of(family);
}

CutTensor cut(const std::string& name, const ShardedTensor& tensor) {
  CutTensor cut{name, tensor.global_shape.value_or(tensor.parts.front().shape), {}};
  for (const ShardedTensor::Part& part : tensor.parts) {
    Box box{part.origin.empty() ? Shape(part.shape.size()) : part.origin, Shape(part.shape.size())};
    for (std::size_t d = 0; d < box.rank(); ++d) {
      box.hi[d] = checked_add(box.lo[d], part.shape[d], "a piece's end");
      if (!tensor.global_shape && d < cut.shape.size()) cut.shape[d] = std::max(cut.shape[d], box.hi[d]);
    }
    cut.held.push_back({part.card, std::move(box)});
  }
  return cut;
}

Keys keys_of(const std::string& name, const ShardedTensor& tensor, const Mesh& mesh) {
  Keys keys;
  if (tensor.keys) return *tensor.keys;
  if (!tensor.has_origin && tensor.parts.size() == mesh.size()) return keys;
  return keys_of(cut(name, tensor), mesh);
}

}  // namespace ckpt
