#include "output/source_trees.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "frameworks/torch_dist.hpp"
#include "layout/names/index_census.hpp"
#include "layout/names/naming.hpp"
#include "output/sidecars.hpp"
#include "processes/gather_all.hpp"
#include "store/orbax/tree.hpp"
#include "store/pickle/opaque.hpp"
#include "store/tensorflow/read_bundle.hpp"
#include "store/tensorflow/string_tensor.hpp"
#include "store/torch/chosen_tree.hpp"

namespace ckpt {

namespace {

/// The source's card with the coordinates of one of the target's on the axes that both have, or nothing.
std::optional<Position> card_at(const Mesh& source, const Mesh& target, Position card) {
  Position position = 0;
  for (std::size_t axis = 0; axis < source.axes.size(); ++axis) {
    const auto in_target = target.axis(source.axes[axis]);
    if (!in_target) continue;
    const std::uint64_t coordinate = target.coordinate(card, *in_target);
    if (coordinate >= source.shape[axis]) return std::nullopt;
    position += coordinate * source.stride(axis);
  }
  return position;
}

/// How far each entry of `indices` counts, by the names that the cards hold.
std::vector<std::uint64_t> counted_totals(const Layout& layout, const std::vector<CardArrays>& card_arrays) {
  const Naming naming(layout);
  IndexCensus census(layout);
  for (Position card = 0; card < card_arrays.size(); ++card)
    for (const StoredArray& array : *card_arrays[card])
      census.note_stored(naming.renamed(array.name), layout.mesh.coordinates(card));
  for (const Bucket& bucket : layout.buckets)
    for (const BucketMember& member : bucket.members) census.note_logical(member.name);
  return census.totals();
}

}  // namespace

SourceTrees::SourceTrees(const Checkpoint& source, const Placement& target, const Store& format, bool keeps,
                         NewName new_name)
    : source_(source),
      target_(target),
      where_(target),
      naming_(source.layout()),
      card_names_(source.layout()),
      format_(format),
      new_name_(std::move(new_name)),
      keeps_(keeps) {
  const auto sidecars = files_of_source(source, format);
  makes_rest_ = sidecars.empty() && is_torch_dist(format);
  has_all_sidecars_ = makes_rest_ || !sidecars.empty();
  for (const Sidecar& file : sidecars) sidecar_leaves_.insert(file.leaves.begin(), file.leaves.end());
  for (FileNumber file = 0; file < where_.table().count(); ++file) {
    const bool takes_one = format.index() == nullptr || file == 0;
    origins_.push_back(takes_one ? find_origins(file) : Origins());
    for (const FileNumber origin : origins_.back()) used_.insert(source.file(origin).schema.get());
  }
  if (makes_rest_ && origins_.front().empty())
    throw Error(Kind::input, source.path().string(),
                {"has no tree of a torch file", "one, of which common.pt is made",
                 "take --format dcp, or give the source as Megatron saved it"});
  if (makes_rest_)
    for (const Tensor& tensor : target.tensors()) names_.push_back(tensor.name);
  if (used_.empty()) return;
  if (!source.layout().indices.empty()) naming_.count_to(counted_totals(source.layout(), source.card_arrays()));
  std::vector<NamedSchema> files;
  for (FileNumber file = 0; file < source.files().size(); ++file)
    files.push_back({source.file_name(file), source.file(file).schema.get()});
  fit_.emplace(target, files);
}

bool SourceTrees::are_all_used(const std::vector<SourceSchema>& source_schemas) const {
  return std::all_of(source_schemas.begin(), source_schemas.end(),
                     [&](const SourceSchema& each) { return used_.contains(each.schema); });
}

const std::string& SourceTrees::prefix_of_target(FileNumber target) const {
  return target_.layout().files.entries()[where_.table().entry(target)].prefix;
}

const std::string& SourceTrees::prefix_of_source(FileNumber file) const {
  return source_.layout().files.entries()[source_.table().entry(file)].prefix;
}

/// The first file of each prefix of names that belongs into the target's file and has no target file of its own.
SourceTrees::Origins SourceTrees::find_origins(FileNumber target) {
  std::set<std::string> taken;
  for (const FileEntry& entry : target_.layout().files.entries()) taken.insert(entry.prefix);
  const std::string& prefix = prefix_of_target(target);
  taken.erase(prefix);
  const auto& entries = source_.layout().files.entries();
  Origins origins;
  for (std::size_t entry = 0; entry < entries.size(); ++entry) {
    const std::string& other = entries[entry].prefix;
    if (other != prefix && !source_.layout().rename.empty()) continue;  // the prefix does not name a dict
    if (!(other.starts_with(prefix) || prefix.starts_with(other)) || !taken.insert(other).second) continue;
    if (const auto file = origin_in(entry, target)) origins.push_back(*file);
  }
  return origins;
}

std::optional<FileNumber> SourceTrees::origin_in(std::size_t entry, FileNumber target) {
  const Mesh& mesh = source_.layout().mesh;
  if (const auto card = card_at(mesh, target_.layout().mesh, where_.table().owner(target)))
    if (const auto file = file_of(*card, entry)) return file;
  return lowest_file_of(entry);
}

/// Searches once, however many target files have no card with the same coordinates.
std::optional<FileNumber> SourceTrees::lowest_file_of(std::size_t entry) {
  const auto [found, is_new] = lowest_files_.try_emplace(entry);
  if (!is_new) return found->second;
  for (const Position card : source_.layout().mesh.by_card())
    if (!found->second) found->second = file_of(card, entry);
  return found->second;
}

std::optional<FileNumber> SourceTrees::file_of(Position card, std::size_t entry) const {
  const FileNumber file = source_.table().of(card, entry);
  const Schema& schema = *source_.file(file).schema;
  if (!source_.is_there(file) || tree_format(schema).empty()) return std::nullopt;
  const bool may_keep = format_.traits().keeps_trees && (keeps_ || !schema.has_tree);
  return may_keep || !is_kept(schema) ? std::optional(file) : std::nullopt;
}

void SourceTrees::fetch(const std::vector<FileNumber>& targets, SourceStore& store, Communicator& processes) {
  if (source_.is_shared()) return;
  std::vector<FileNumber> wanted;
  for (const FileNumber target : targets)
    for (const FileNumber file : origins_[target])
      if (source_.file(file).schema->has_tree) wanted.push_back(file);
  const auto all = gather_all(wanted, processes);
  const Owners owners = source_.owners(static_cast<std::uint32_t>(processes.size()));
  std::vector<std::map<FileNumber, std::string>> to_peer(all.size());
  agree(processes, [&] {
    for (std::size_t peer = 0; peer < all.size(); ++peer)
      for (const FileNumber file : all[peer])
        if (owners[source_.table().owner(file)] == static_cast<std::uint32_t>(processes.rank()) &&
            !to_peer[peer].contains(file))
          to_peer[peer].emplace(file, store.tree(source_.file_path(file)));
  });
  for (auto& trees : exchange_values(std::move(to_peer), processes))
    for (auto& [file, tree] : trees) sent_.emplace(file, std::make_shared<const std::string>(std::move(tree)));
}

SourceTrees::Tree SourceTrees::of(FileNumber target, SourceStore& store) {
  if (!makes_rest_) return taken_by(target, store);
  return target == 0 ? objects_ : nullptr;
}

std::vector<Sidecar> SourceTrees::sidecars(SourceStore& store) {
  if (makes_rest_) {
    torch_dist::CommonState made = torch_dist::common_state(trees_of_ranks(store), names_);
    objects_ = std::make_shared<const std::string>(std::move(made.objects));
    return std::move(made.files);
  }
  const auto files = files_of_source(source_, format_);
  return {files.begin(), files.end()};
}

/// The tree of the first file and, if all files are seen, of the others with the same names in them.
std::vector<torch_dist::RankTree> SourceTrees::trees_of_ranks(SourceStore& store) {
  const FileTable& table = source_.table();
  const Layout& layout = source_.layout();
  const FileNumber first = origins_.front().front();
  std::vector<FileNumber> files{first};
  for (FileNumber file = 0; source_.is_shared() && file < table.count(); ++file)
    if (file != first && table.entry(file) == table.entry(first) && source_.is_there(file) &&
        source_.file(file).schema->has_tree)
      files.push_back(file);
  if (!source_.is_shared())
    log::warn("not every process sees every file: of what is no weight, common.pt has no tensors");
  const bool has_states = std::any_of(
      names_.begin(), names_.end(), [](const std::string& name) { return name.starts_with(torch_dist::state_prefix); });
  const auto naming = std::make_shared<Naming>(layout);
  naming->count_to(counted_totals(layout, source_.card_arrays()));
  std::vector<torch_dist::RankTree> ranks;
  std::uint64_t room = torch::most_object_bytes();
  for (const FileNumber file : files) {
    const Tree tree = file == first ? taken_by(0, store) : read(file, store);
    const auto coordinates = layout.mesh.coordinates(table.owner(file));
    const std::string prefix = layout.files.entries()[table.entry(file)].prefix;
    const auto name_of = [naming, coordinates, prefix](const std::string& name) {
      return naming->counted(naming->renamed(prefix + name), coordinates);
    };
    ranks.push_back({torch_dist::rank_in_path(source_.file_name(file)), *tree,
                     values_of(file, torch_dist::value_names(*tree, has_states), store, room), name_of});
  }
  return ranks;
}

/// The values of these tensors of a file, as far as there is room, which they use up; none unless every process sees
/// every file.
torch_dist::SmallTensors SourceTrees::values_of(FileNumber file, const std::set<std::string>& names, SourceStore& store,
                                                std::uint64_t& room) const {
  torch_dist::SmallTensors values;
  const FileCatalog& catalog = source_.file(file);
  if (!source_.is_shared()) return values;
  std::unique_ptr<SourceFile> open;
  for (std::size_t i = 0; i < catalog.schema->arrays->size(); ++i) {
    const StoredArray& array = (*catalog.schema->arrays)[i];
    if (!names.contains(array.name)) continue;
    const std::uint64_t bytes = checked_mul(numel(array.shape), array.dtype.size, "a tensor");
    if (bytes > room) {
      log::warn("{} of {} is left out: the output has no room for so much beside weights", array.name,
                format_bytes(bytes));
      continue;
    }
    room -= bytes;
    std::string elements(bytes, '\0');
    if (!open) open = source_.open_file(file, store);
    if (bytes > 0) open->read(i, 0, std::as_writable_bytes(std::span(elements)));
    values.emplace(array.name, torch_dist::SmallTensor{array.dtype, array.shape, std::move(elements)});
  }
  return values;
}

SourceTrees::Tree SourceTrees::taken_by(FileNumber target, SourceStore& store) {
  const Origins& files = origins_[target];
  if (files.empty()) return nullptr;
  const Key key{files, where_.table().entry(target)};
  Tree tree;
  {
    const std::lock_guard lock(mutex_);
    if (last_ == key) tree = last_tree_;
  }
  const Schema& first = *source_.file(files.front()).schema;
  if (!tree) {
    tree = is_taken_as_it_is(target) ? read(files.front(), store) : chosen(target, store);
    if (is_kept(first)) tree = std::make_shared<const std::string>(kept_tree_text(tree_format(first), *tree));
    const std::lock_guard lock(mutex_);
    last_ = key;
    last_tree_ = tree;
  }
  if (is_kept(first)) return tree;
  if (auto fitted = fit_->fitted(target, *tree)) tree = std::make_shared<const std::string>(std::move(*fitted));
  return tree;
}

/// A tree that a file only keeps for another format is not interpreted here.
bool SourceTrees::is_taken_as_it_is(FileNumber target) const {
  const Origins& files = origins_[target];
  const Schema& first = *source_.file(files.front()).schema;
  if (makes_rest_ || (is_kept(first) && !first.has_tree)) return true;
  return files.size() == 1 && !new_name_ && card_names_.empty() &&
         prefix_of_source(files.front()) == prefix_of_target(target);
}

SourceTrees::Tree SourceTrees::chosen(FileNumber target, SourceStore& store) {
  const FileNumber first = origins_[target].front();
  if (tree_format(*source_.file(first).schema) == tensorflow::format_name)
    return std::make_shared<const std::string>(tensorflow::chosen_tree(
        *read(first, store), [&](const std::string& name) { return name_of_value(first, target, name); }));
  if (tree_format(*source_.file(first).schema) == orbax::format_name)
    return std::make_shared<const std::string>(
        orbax::chosen_tree(*read(first, store), [&](const std::string& name, bool is_array) {
          return is_array ? name_of_tensor(first, target, name) : name_of_value(first, target, name);
        }));
  std::vector<Tree> trees;
  std::vector<torch::TreePart> parts;
  for (const FileNumber file : origins_[target]) {
    trees.push_back(read(file, store));
    parts.push_back({*trees.back(), [this, file, target](const std::string& name, bool is_tensor) {
                       return is_tensor ? name_of_tensor(file, target, name) : name_of_value(file, target, name);
                     }});
  }
  return std::make_shared<const std::string>(torch::chosen_tree(parts));
}

/// The tensor's name in the target's file; nothing if it is not there.
std::optional<std::string> SourceTrees::name_of_tensor(FileNumber file, FileNumber target,
                                                       const std::string& name) const {
  const auto own = name_on_card(file, name);
  if (!own) return std::nullopt;
  const std::string stored = prefix_of_source(file) + own->stored;
  const Mesh& mesh = source_.layout().mesh;
  const std::string logical = naming_.counted(naming_.renamed(stored), mesh.coordinates(source_.table().owner(file)));
  const auto other = new_name_ ? new_name_(logical) : logical;
  if (!other) return std::nullopt;
  if (const auto parameter = target_.find(*other)) {
    const ArrayId array = target_.array_of(*parameter);
    return where_.entry(array) == where_.table().entry(target) ? std::optional(where_.name(array)) : std::nullopt;
  }
  return name_within(target, *other == logical && stored == prefix_of_source(file) + name ? stored : *other);
}

std::optional<std::string> SourceTrees::name_of_value(FileNumber file, FileNumber target,
                                                      const std::string& name) const {
  const auto own = name_on_card(file, name);
  if (!own) return std::nullopt;
  const std::string whole = prefix_of_source(file) + own->value;
  const auto other = new_name_ ? new_name_(whole) : whole;
  return other ? name_within(target, *other) : std::nullopt;
}

/// If files name their owners in their tensors' names, only the card's own names count.
std::optional<CardNames::Name> SourceTrees::name_on_card(FileNumber file, const std::string& name) const {
  return card_names_.of_card({source_.table().entry(file), source_.table().owner(file)}, name);
}

/// The name without the file's prefix; nothing if it belongs into another file.
std::optional<std::string> SourceTrees::name_within(FileNumber target, const std::string& name) const {
  const CardFiles& files = target_.layout().files;
  const auto entry = files.entry_of(name);
  const std::string& prefix = prefix_of_target(target);
  const bool is_here = entry ? files.entries()[*entry].prefix == prefix : name.starts_with(prefix);
  if (!is_here || name.size() == prefix.size()) return std::nullopt;
  return name.substr(prefix.size());
}

/// The tree in its format's own form.
SourceTrees::Tree SourceTrees::read(FileNumber file, SourceStore& store) const {
  if (const auto sent = sent_.find(file); sent != sent_.end()) return sent->second;
  const Schema& schema = *source_.file(file).schema;
  std::string tree =
      schema.has_tree ? store.tree(source_.file_path(file)) : with_file(source_.file_path(file).string(), [&] {
        std::string kept = kept_tree(schema.kept_tree);
        return is_kept(schema) ? std::move(kept) : format_.trees()->admitted(kept);
      });
  return std::make_shared<const std::string>(std::move(tree));
}

}  // namespace ckpt
