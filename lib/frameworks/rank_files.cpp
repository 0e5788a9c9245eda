#include "frameworks/rank_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "frameworks/cut_rules.hpp"
#include "frameworks/rank_families.hpp"
#include "frameworks/rank_mesh.hpp"
#include "frameworks/rank_pieces.hpp"
#include "store/catalog.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t most_missing = 1000;

/// All safetensors files that ranks of torch.distributed.checkpoint wrote, each piece with its corner
/// (shard-00002-model-00001-of-00003.safetensors; https://github.com/pytorch/pytorch,
/// torch/distributed/checkpoint/hf_storage.py), recognised by their content, each as a rank's; one rank may have
/// several with different tensors. Reports other files beside them. Nothing where there are none. `names` and
/// `catalogs` are parallel.
std::optional<RankFamily> origin_family(const std::vector<std::string>& names,
                                        const std::vector<FileCatalog>& catalogs) {
  RankFamily family;
  std::vector<std::string> ours;
  std::vector<std::string> others;
  bool says_any = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    says_any = says_any || states_origins(*catalogs[i].schema);
    const bool is_ours = has_origins(*catalogs[i].schema);
    (is_ours ? ours : others).push_back(names[i]);
    if (is_ours) family.files.push_back({ours.size() - 1, i});
  }
  if (!says_any) return std::nullopt;
  if (!others.empty())
    log::info("passed over, as they say of no pieces where they belong: {} beside {}", join(others, 4), join(ours, 2));
  family.before = "rank_";  // other files are not DCP's: they have no corners
  family.behind = ".safetensors";
  return family;
}

/// The files missing according to the numbers in the others' names; empty where the names have another form.
std::vector<std::string> missing_shards(const RankFamily& family, const std::vector<std::string>& names) {
  static const std::regex form(R"((.*)shard-(\d{5})-model-(\d{5})-of-(\d{5})\.safetensors)");
  std::set<std::string> found;
  std::string folder;
  std::uint64_t shards = 0;
  std::uint64_t models = 0;
  for (const RankFamily::File& each : family.files) {
    std::smatch number;
    if (!std::regex_match(names[each.file], number, form)) return {};
    folder = number[1];
    shards = std::max<std::uint64_t>(shards, std::stoull(number[2]));
    models = std::max<std::uint64_t>(models, std::stoull(number[4]));
    found.insert(names[each.file]);
  }
  std::vector<std::string> missing;
  for (std::uint64_t shard = 1; shard <= shards && missing.size() < most_missing; ++shard)
    for (std::uint64_t model = 1; model <= models && missing.size() < most_missing; ++model)
      if (std::string name =
              fmt::format("{}shard-{:05}-model-{:05}-of-{:05}.safetensors", folder, shard, model, models);
          !found.contains(name))
        missing.push_back(std::move(name));
  return missing;
}

class RankFiles {
 public:
  RankFiles(const std::vector<std::string>& names, const std::vector<FileCatalog>& catalogs, std::string origin)
      : names_(names), catalogs_(catalogs), origin_(std::move(origin)) {}

  std::optional<DirectoryDescription> describe() {
    choose_families();
    if (families_.empty()) return std::nullopt;
    const RankMesh mesh(schemas_by_rank());
    mesh_ = mesh.mesh();
    DirectoryDescription described;
    std::vector<NamedKeys> here;
    std::vector<NamedKeys> elsewhere;
    for (const RankFamily& family : families_) {
      const std::string prefix = prefix_of(family);
      const auto tensors = sharded_tensors(family, names_, catalogs_, mesh);
      warn_of_shapeless(family, tensors);
      add_shapes(family, tensors, described.files);
      for (const auto& [name, tensor] : tensors) {
        NamedKeys keys{prefix + name, keys_of(prefix + name, tensor, mesh_)};
        if (!says_pieces(family)) keys.keys.replicas = Replicas::first;
        // A file without a piece is known to lack one only where the shape is known.
        if (tensor.has_origin && keys.keys.split && tensor.parts.size() < mesh_.size()) {
          const Shape shape = cut(name, tensor).shape;
          keys.keys.shape.emplace(shape.begin(), shape.end());
        }
        here.push_back(keys);
        if (tensor.has_origin) keys.keys = keys_elsewhere(cut(name, tensor));
        if (mesh_.axes == std::vector<std::string>{"card"}) keys.keys.at.reset();  // the card that saved it, no stage
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

  /// Those of which one says pieces, and others of the same ranks. A job of one rank cuts nothing.
  void choose_families() {
    if (std::none_of(catalogs_.begin(), catalogs_.end(),
                     [](const FileCatalog& catalog) { return ckpt::says_pieces(*catalog.schema); })) {
      if (names_.size() > 1 && are_of_one_rank()) families_ = rank_families(names_);
      return check_labels();
    }
    if (auto shards = origin_family(names_, catalogs_)) {
      families_.push_back(std::move(*shards));
      return;
    }
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
                     std::to_string(ranks.size()) + ", as of the others", "are all of the checkpoint's files there?"});
    }
    check_labels();
  }

  void check_labels() const {
    std::set<std::string> labels;
    for (const RankFamily& family : families_)
      if (!labels.insert(family.label).second)
        throw Error(Kind::input, family.before + "*" + family.behind,
                    {"two kinds of files are called \"" + family.label + "\"", "one of them", "give a layout"});
    if (families_.size() > 1)
      log::info(
          "{}: there are several kinds of files; each tensor's name begins with that of its kind: {}; to take one "
          "kind: --only {}",
          origin_, join({labels.begin(), labels.end()}), shell_word(*labels.begin() + "/*"));
  }

  bool are_of_one_rank() const {
    return std::all_of(names_.begin(), names_.end(),
                       [](const std::string& name) { return name.find("_world_size_1_rank_0.") != std::string::npos; });
  }

  /// What follows from the pieces alone may be too short.
  void warn_of_shapeless(const RankFamily& family, const std::map<std::string, ShardedTensor>& tensors) const {
    std::vector<std::string> shapeless;
    for (const auto& [name, tensor] : tensors)
      if (tensor.has_origin && !tensor.global_shape) shapeless.push_back(name);
    if (shapeless.empty()) return;
    const std::vector<std::string> missing = missing_shards(family, names_);
    log::warn(
        "{}: the files do not say the whole shape of {}: each ends where its last piece does, so that it "
        "cannot be seen whether pieces are missing at its end{}; compare the shapes (--expect)",
        origin_, join(shapeless, 4),
        missing.empty() ? "" : ". By the numbers in their names there is no " + join(missing, 4));
  }

  std::string prefix_of(const RankFamily& family) const { return families_.size() == 1 ? "" : family.label + "/"; }

  std::vector<std::vector<const Schema*>> schemas_by_rank() const {
    std::vector<std::vector<const Schema*>> schemas(families_.front().files.size());
    for (const RankFamily& family : families_)
      for (std::size_t rank = 0; rank < schemas.size(); ++rank)
        schemas[rank].push_back(catalogs_[family.files[rank].file].schema.get());
    return schemas;
  }

  /// Adds catalogs that state a tensor's whole shape where its pieces do not, so that an absent piece is known to be
  /// empty. Drops the attribute that says where the pieces lie.
  void add_shapes(const RankFamily& family, const std::map<std::string, ShardedTensor>& tensors,
                  std::vector<DescribedFile>& files) const {
    if (std::none_of(family.files.begin(), family.files.end(),
                     [&](const auto& file) { return has_origins(*catalogs_[file.file].schema); }))
      return;
    std::map<std::string, Shape> shapes;
    for (const auto& [name, tensor] : tensors)
      if (tensor.has_origin) shapes.emplace(name, cut(name, tensor).shape);
    for (const RankFamily::File& each : family.files) {
      FileCatalog catalog = catalogs_[each.file];
      auto arrays = *catalog.schema->arrays;
      for (StoredArray& array : arrays)
        if (const auto shape = shapes.find(array.name); shape != shapes.end()) array.global_shape = shape->second;
      Schema schema = *catalog.schema;
      std::erase_if(schema.attributes, [](const Attribute& attribute) { return has_origins(attribute); });
      schema.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
      catalog.schema = std::make_shared<const Schema>(std::move(schema));
      files.push_back({names_[each.file], names_[each.file], std::move(catalog)});
    }
  }

  /// "model_world_size_8_rank_{card}.pt" if that describes all files; else each path.
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

  /// For other cards, avoids the framework's names: they contain the number of ranks, and the framework expects files
  /// with such names to describe their pieces.
  CardFiles files_elsewhere() const {
    std::vector<FileEntry> entries;
    for (const RankFamily& family : families_) {
      const std::string label = family.label.empty() ? "" : family.label + "_";
      const std::size_t dot = family.behind.rfind('.');
      const std::string ending = dot == std::string::npos ? ".pt" : family.behind.substr(dot);
      const bool is_plain = is_literal(label) && is_literal(ending);
      entries.push_back(
          {FileTemplate(is_plain ? label + "card_{card}" + ending : "card_{card}.pt", mesh_), prefix_of(family)});
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

std::optional<DirectoryDescription> describe_rank_files(const std::vector<std::string>& names,
                                                        const std::vector<FileCatalog>& catalogs,
                                                        const std::string& origin) {
  return RankFiles(names, catalogs, origin).describe();
}

}  // namespace ckpt
