#include "frameworks/rank_files.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "frameworks/cut_rules.hpp"
#include "frameworks/rank_families.hpp"
#include "frameworks/rank_mesh.hpp"

namespace ckpt {

namespace {

/// Of safetensors that torch.distributed.checkpoint has written, each rank's: {name: {"saved_offsets": [..]}}.
constexpr const char* sharding_attribute = "DCP_SHARDING_INFO";

/// One tensor in all files of a family.
struct SpreadTensor {
  struct Part {
    Position card = 0;
    Extents corner;  ///< none: the file does not say one
    Extents shape;
  };
  std::vector<Part> parts;
  std::optional<Extents> global_shape;
  std::optional<Keys> keys;  ///< of a DTensor
  bool has_corner = false;
};

using Corners = std::map<std::string, Extents>;

/// The corners that a file's own attribute gives. Throws input for JSON of another form.
Corners corners_in(const Schema& schema) {
  Corners corners;
  for (const Attribute& attribute : schema.attributes) {
    if (attribute.name != sharding_attribute) continue;
    const auto json =
        parse_json(text_in(attribute.value).value_or(""), sharding_attribute, {Kind::input, "offsets", ""});
    if (!json.is_object())
      throw Error(Kind::input, sharding_attribute, {"is no JSON object", "expected one of names", ""});
    for (const auto& [name, said] : json.items()) {
      const auto offsets = said.is_object() ? said.find("saved_offsets") : said.end();
      if (!said.is_object() || offsets == said.end() || !offsets->is_array())
        throw Error(Kind::input, sharding_attribute, {"has no saved_offsets of '" + name + "'", "expected a list", ""});
      Extents& corner = corners[name];
      for (const auto& offset : *offsets) {
        if (!offset.is_number_unsigned())
          throw Error(Kind::input, sharding_attribute, {"has an offset of '" + name + "' that is no number", "", ""});
        corner.push_back(offset.get<std::uint64_t>());
      }
    }
  }
  return corners;
}

bool says_pieces(const Schema& schema) {
  return std::any_of(schema.datasets.begin(), schema.datasets.end(),
                     [](const Dataset& dataset) { return dataset.piece.has_value(); }) ||
         std::any_of(schema.attributes.begin(), schema.attributes.end(),
                     [](const Attribute& attribute) { return attribute.name == sharding_attribute; });
}

class RankFiles {
 public:
  RankFiles(const std::vector<std::string>& names, const std::vector<FileCatalog>& catalogs, std::string origin)
      : names_(names), catalogs_(catalogs), origin_(std::move(origin)) {}

  std::optional<Described> describe() {
    choose_families();
    if (families_.empty()) return std::nullopt;
    const RankMesh mesh(schemas_by_rank());
    mesh_ = mesh.mesh();
    Described described;
    std::vector<NamedKeys> here;
    std::vector<NamedKeys> elsewhere;
    for (const RankFamily& family : families_) {
      const std::string prefix = prefix_of(family);
      const auto tensors = tensors_of(family, mesh);
      add_shapes(family, tensors, described.files);
      for (const auto& [name, tensor] : tensors) {
        NamedKeys keys{prefix + name, keys_of_tensor(prefix + name, tensor)};
        if (!says_pieces(family)) keys.keys.replicas = Replicas::first;
        here.push_back(keys);
        if (tensor.has_corner) keys.keys = ckpt::keys_elsewhere(cut(name, tensor));
        elsewhere.push_back(std::move(keys));
      }
    }
    described.layout = layout(std::move(here), files(mesh));
    described.elsewhere = layout(std::move(elsewhere), files_elsewhere());
    return described;
  }

 private:
  bool says_pieces(const RankFamily& family) const {
    return std::any_of(family.files.begin(), family.files.end(),
                       [&](const auto& file) { return ckpt::says_pieces(*catalogs_[file.file].schema); });
  }

  /// Those of which one says pieces, and others of the same ranks.
  void choose_families() {
    if (std::none_of(catalogs_.begin(), catalogs_.end(),
                     [](const FileCatalog& catalog) { return ckpt::says_pieces(*catalog.schema); }))
      return;
    std::vector<RankFamily> all = rank_families(names_);
    const auto first = std::find_if(all.begin(), all.end(), [&](const auto& family) { return says_pieces(family); });
    if (first == all.end()) return;
    const auto ranks_of = [](const RankFamily& family) {
      std::vector<std::uint64_t> ranks;
      for (const auto& file : family.files) ranks.push_back(file.rank);
      return ranks;
    };
    const auto ranks = ranks_of(*first);
    for (RankFamily& family : all) {
      if (ranks_of(family) == ranks)
        families_.push_back(std::move(family));
      else if (says_pieces(family))
        throw Error(Kind::input, family.before + "*" + family.behind,
                    {std::to_string(family.files.size()) + " files",
                     "expected " + std::to_string(ranks.size()) + ", as of the others",
                     "are all of the checkpoint's files there?"});
    }
    std::set<std::string> labels;
    for (const RankFamily& family : families_)
      if (!labels.insert(family.label).second)
        throw Error(
            Kind::input, family.before + "*" + family.behind,
            {"two kinds of files are called \"" + family.label + "\"", "expected one of them", "give a layout"});
    if (families_.size() > 1)
      spdlog::info("{} holds files of several kinds, whose names begin with {}", origin_,
                   join({labels.begin(), labels.end()}));
  }

  std::string prefix_of(const RankFamily& family) const { return families_.size() == 1 ? "" : family.label + "/"; }

  std::vector<std::vector<const Schema*>> schemas_by_rank() const {
    std::vector<std::vector<const Schema*>> schemas(families_.front().files.size());
    for (const RankFamily& family : families_)
      for (std::size_t rank = 0; rank < schemas.size(); ++rank)
        schemas[rank].push_back(catalogs_[family.files[rank].file].schema.get());
    return schemas;
  }

  std::map<std::string, SpreadTensor> tensors_of(const RankFamily& family, const RankMesh& mesh) const {
    std::map<std::string, SpreadTensor> tensors;
    for (std::size_t rank = 0; rank < family.files.size(); ++rank) {
      const std::size_t file = family.files[rank].file;
      with_file(names_[file], [&] {
        const Schema& schema = *catalogs_[file].schema;
        const Corners corners = corners_in(schema);
        for (std::size_t i = 0; i < schema.datasets.size(); ++i) {
          const StoredArray& array = (*schema.arrays)[i];
          SpreadTensor& tensor = tensors[array.name];
          with_context("/" + array.name, [&] { add(tensor, array, schema.datasets[i], corners, mesh, rank); });
        }
      });
    }
    return tensors;
  }

  void add(SpreadTensor& tensor, const StoredArray& array, const Dataset& dataset, const Corners& corners,
           const RankMesh& mesh, std::size_t rank) const {
    SpreadTensor::Part part{mesh.position(rank), {}, array.shape};
    if (dataset.piece && !dataset.piece->mesh.empty() && !mesh.is_of_all()) {
      part.corner = mesh.box(*dataset.piece, array.global_shape.value_or(array.shape)).lo;
    } else if (dataset.piece && !dataset.piece->mesh.empty()) {
      Keys keys = keys_of_piece(*dataset.piece, mesh);
      if (tensor.keys && text_of(*tensor.keys, mesh_) != text_of(keys, mesh_))
        throw Error(Kind::input, "",
                    {"is cut otherwise than on other ranks", "expected the same placements on all", ""});
      tensor.keys = std::move(keys);
    } else if (dataset.piece) {
      part.corner = dataset.piece->corner;
    } else if (const auto found = corners.find(array.name); found != corners.end()) {
      part.corner = found->second;
    }
    if (!part.corner.empty()) {
      if (part.corner.size() != array.shape.size())
        throw Error(Kind::input, "",
                    {"has " + std::to_string(array.shape.size()) + " dimensions and offsets for " +
                         std::to_string(part.corner.size()),
                     "expected one for each", "is the file damaged?"});
      tensor.has_corner = true;
    }
    if (array.global_shape) tensor.global_shape = array.global_shape;
    tensor.parts.push_back(std::move(part));
  }

  /// Where no file says a tensor's shape, its pieces do: catalogs that know it, so that an absent one is known to be
  /// empty.
  void add_shapes(const RankFamily& family, const std::map<std::string, SpreadTensor>& tensors,
                  std::vector<DescribedFile>& files) const {
    std::map<std::string, Extents> shapes;
    for (const auto& [name, tensor] : tensors)
      if (tensor.has_corner && !tensor.global_shape) shapes.emplace(name, cut(name, tensor).shape);
    if (shapes.empty()) return;
    for (const RankFamily::File& each : family.files) {
      FileCatalog catalog = catalogs_[each.file];
      auto arrays = *catalog.schema->arrays;
      for (StoredArray& array : arrays)
        if (const auto shape = shapes.find(array.name); shape != shapes.end()) array.global_shape = shape->second;
      Schema schema = *catalog.schema;
      std::erase_if(schema.attributes, [](const Attribute& attribute) { return attribute.name == sharding_attribute; });
      schema.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
      catalog.schema = std::make_shared<const Schema>(std::move(schema));
      files.push_back({names_[each.file], names_[each.file], std::move(catalog)});
    }
  }

  /// How a DTensor is cut, on the mesh of all.
  Keys keys_of_piece(const Piece& piece, const RankMesh& mesh) const {
    Keys keys;
    std::vector<std::vector<Axis>> split;
    for (std::size_t dim = 0; dim < piece.split.size(); ++dim) {
      split.emplace_back();
      for (const std::uint64_t axis : piece.split[dim]) split.back().push_back(axis_of(piece, axis));
      add_parts(piece, dim, mesh, keys);
    }
    while (!split.empty() && split.back().empty()) split.pop_back();
    if (split.empty()) return keys;
    keys.split = std::move(split);
    keys.uneven = Uneven::ceil;
    return keys;
  }

  Axis axis_of(const Piece& piece, std::uint64_t axis) const { return *mesh_.axis(name_of_axis(piece.mesh, axis)); }

  /// A strided axis cuts what the axes to its right have left, as many chunks as they make; or, without them, the parts
  /// of a fused dimension.
  static void add_parts(const Piece& piece, std::size_t dim, const RankMesh& mesh, Keys& keys) {
    for (const std::uint64_t axis : piece.split[dim]) {
      const std::uint64_t factor = piece.mesh.at(axis).split_factor;
      if (factor == 0) continue;
      const std::uint64_t chunks = mesh.chunks_before(piece, dim, axis);
      if (factor == chunks) continue;
      if (piece.split[dim].size() > 1 || keys.parts)
        throw Error(Kind::input, "",
                    {"is cut in strides of " + std::to_string(factor) + " chunks",
                     "expected " + std::to_string(chunks) + ", as the mesh's other axes make",
                     "give a layout that says how (ckpt-inspect --as-layout begins one)"});
      keys.parts = Parts{dim, {}, factor};
    }
  }

  static CutTensor cut(const std::string& name, const SpreadTensor& tensor) {
    CutTensor cut{name, tensor.global_shape.value_or(tensor.parts.front().shape), {}};
    for (const SpreadTensor::Part& part : tensor.parts) {
      Box box{part.corner.empty() ? Extents(part.shape.size()) : part.corner, Extents(part.shape.size())};
      for (std::size_t d = 0; d < box.rank(); ++d) {
        box.hi[d] = checked_add(box.lo[d], part.shape[d], "a piece's end");
        if (!tensor.global_shape && d < cut.shape.size()) cut.shape[d] = std::max(cut.shape[d], box.hi[d]);
      }
      cut.held.push_back({part.card, std::move(box)});
    }
    return cut;
  }

  Keys keys_of_tensor(const std::string& name, const SpreadTensor& tensor) const {
    Keys keys;
    if (tensor.keys) return *tensor.keys;
    if (!tensor.has_corner && tensor.parts.size() == mesh_.size()) return keys;
    return keys_of(cut(name, tensor), mesh_);
  }

  /// "model_world_size_8_rank_{card}.pt", where that says all; else each path.
  CardFiles files(const RankMesh& mesh) const {
    std::vector<FileEntry> entries;
    for (const RankFamily& family : families_) {
      FileTemplate::ByCard paths;
      bool fits = is_literal(family.before) && is_literal(family.behind);
      for (std::size_t rank = 0; rank < family.files.size(); ++rank) {
        const Position card = mesh.position(rank);
        paths.emplace(card, names_[family.files[rank].file]);
        fits = fits && paths.at(card) == family.before + std::to_string(card) + family.behind;
      }
      entries.push_back(
          {fits ? FileTemplate(family.before + "{card}" + family.behind, mesh_) : FileTemplate(std::move(paths), mesh_),
           prefix_of(family)});
    }
    return CardFiles(std::move(entries));
  }

  /// For other cards: the same names with their own numbers.
  CardFiles files_elsewhere() const {
    std::vector<FileEntry> entries;
    for (const RankFamily& family : families_) {
      const bool is_plain = is_literal(family.before) && is_literal(family.behind);
      const std::string text = is_plain ? family.before + "{card}" + family.behind : family.label + "_{card}.pt";
      entries.push_back({FileTemplate(text, mesh_), prefix_of(family)});
    }
    return CardFiles(std::move(entries));
  }

  static bool is_literal(const std::string& text) { return text.find_first_of("{}") == std::string::npos; }

  Layout layout(std::vector<NamedKeys> names, CardFiles files) const {
    Layout layout;
    layout.origin = origin_;
    layout.mesh = mesh_;
    layout.files = std::move(files);
    layout.parameters = rules_of(names, mesh_);
    return layout;
  }

  const std::vector<std::string>& names_;
  const std::vector<FileCatalog>& catalogs_;
  std::string origin_;
  std::vector<RankFamily> families_;
  Mesh mesh_;
};

}  // namespace

std::optional<Described> describe_rank_files(const std::vector<std::string>& names,
                                             const std::vector<FileCatalog>& catalogs, const std::string& origin) {
  return RankFiles(names, catalogs, origin).describe();
}

}  // namespace ckpt
