#include "output/file_specs.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <numeric>
#include <set>

#include "base/log.hpp"
#include "base/text.hpp"
#include "base/wire.hpp"
#include "frameworks/tree_fit.hpp"
#include "io/block_clones.hpp"
#include "layout/names/pattern.hpp"
#include "output/dropped_names.hpp"
#include "output/source_schemas.hpp"
#include "output/value_names.hpp"
#include "tensor/alignment.hpp"

namespace ckpt {

namespace {

/// Adds a parameter's spread, which equal ones share; returns false if it lies among others or in pieces.
bool put_spread(wire::Writer& out, const Placement& placement, ParameterId parameter) {
  const Sharding& spread = placement.shardings()[parameter];
  if (spread.bucket || spread.flat || spread.boxes) return false;
  for (const auto& cut : spread.cuts) out.put(reinterpret_cast<std::uintptr_t>(cut.get()));
  out.put(spread.axes);
  out.put(spread.permute);
  return true;
}

/// Adds where each file that has an array stores it; returns false if one does not store it as it is, or none has it.
bool put_places(wire::Writer& out, const std::vector<SourceSchema>& source_schemas, std::size_t entry,
                const std::string& name) {
  bool is_anywhere = false;
  for (std::size_t i = 0; i < source_schemas.size(); ++i) {
    if (source_schemas[i].entry != entry) continue;
    const std::size_t found = source_schemas[i].schema->find(name);
    if (found >= source_schemas[i].schema->datasets.size()) continue;
    const Dataset& dataset = source_schemas[i].schema->datasets[found];
    if (dataset.storage != Storage::raw && dataset.storage != Storage::strided) return false;
    is_anywhere = true;
    out.put(std::tie(i, dataset.extents, dataset.strides, (*source_schemas[i].schema->arrays)[found].shape));
  }
  return is_anywhere;
}

/// A key that tied arrays have in common; nothing for arrays that cannot be tied.
std::optional<std::string> key_of(const ArrayPlace& array, const Planner& planner, const ArrayFiles& from_files,
                                  const std::vector<SourceSchema>& source_schemas) {
  if (array.members.size() != 1) return std::nullopt;
  const ParameterId parameter = array.members.front();
  if (planner.links(parameter) != nullptr) return std::nullopt;
  const ParameterId from = planner.source_of(parameter);
  wire::Writer key;
  key.put(array.dtype.name);
  key.put(array.at);
  if (!put_spread(key, planner.target(), parameter) || !put_spread(key, planner.source(), from)) return std::nullopt;
  const ArrayId from_array = planner.source().array_of(from);
  if (!put_places(key, source_schemas, from_files.entry(from_array), from_files.name(from_array))) return std::nullopt;
  return key.take();
}

/// For each array of the target, an earlier one that has the same bytes wherever both exist: every file of the source
/// stores the two once, as torch does with tied weights, and source and target spread them alike.
std::vector<std::optional<ArrayId>> tied_arrays(const Checkpoint& source, const Planner& planner) {
  const auto all = source_schemas(source);
  const ArrayFiles from_files(planner.source());
  std::map<std::string, ArrayId> known;
  std::vector<std::optional<ArrayId>> tied;
  for (const ArrayPlace& array : planner.target().arrays()) {
    tied.emplace_back();
    const auto key = key_of(array, planner, from_files, all);
    if (!key) continue;
    const auto [first, is_new] = known.emplace(*key, static_cast<ArrayId>(tied.size() - 1));
    if (!is_new) tied.back() = first->second;
  }
  return tied;
}

/// Smaller arrays are packed or aligned by their format alone.
constexpr std::uint64_t least_placed = 1ULL << 20;

/// Where bytes lie in a file.
struct FilePlace {
  FileNumber file = 0;
  std::uint64_t byte = 0;

  friend bool operator==(const FilePlace&, const FilePlace&) = default;
};

/// Returns where a transfer's bytes begin in the source, if it stores them in one run, and as they are.
std::optional<FilePlace> place_in_source(const Transfer& transfer, const Checkpoint& source,
                                         const ArrayFiles& from_files) {
  const FileNumber file = from_files.file(transfer.card, transfer.array);
  if (transfer.copy().depth != 0) return std::nullopt;
  if (!source.is_there(file)) return std::nullopt;
  const Schema& schema = *source.file(file).schema;
  const std::size_t found = schema.find(from_files.name(transfer.array));
  if (found >= schema.datasets.size() || schema.datasets[found].storage != Storage::raw) return std::nullopt;
  const std::uint64_t begin = transfer.source.offset * transfer.element;
  const FileExtent extent = schema.datasets[found].extents.at(begin);
  return FilePlace{file, extent.offset + (begin - extent.start)};
}

/// Returns the byte of a block at which an array should begin (FileSpec::Array::place_in_block), if its first bytes are
/// a run of the source's. It depends on the source alone, so that all processes, file systems and cards have one.
std::optional<std::uint32_t> in_block(ArrayId array, const Checkpoint& source, const Planner& planner,
                                      const ArrayFiles& from_files) {
  // First a few elements: a run of many may be as many transfers.
  constexpr std::array<std::uint64_t, 2> runs{512, BlockClones::least_run};
  const Placement& target = planner.target();
  const std::uint64_t element = target.arrays()[array].dtype.size;
  const Position card = target.first_base(target.arrays()[array].members.front());
  if (!target.holds(card, array) || target.stored_bytes(array, card) < least_placed || runs[0] % element != 0 ||
      source.averaged() != nullptr)
    return std::nullopt;
  std::optional<FilePlace> place;
  for (const std::uint64_t run : runs) {
    bool is_run = true;  // of one transfer, or several if it ends within a row
    place.reset();
    const Chunk chunk{card, array, {0, run / element}, run};
    planner.for_each_transfer(chunk, any_writer, [&](const Transfer& transfer) {
      const bool is_cast = !(planner.source().tensors()[transfer.parameter].dtype == target.arrays()[array].dtype);
      const auto here = is_run && !is_cast ? place_in_source(transfer, source, from_files) : std::nullopt;
      if (!place && transfer.target_offset == 0) place = here;
      is_run = here && place && *here == FilePlace{place->file, place->byte + transfer.target_offset};
    });
    if (!is_run || !place) return std::nullopt;
  }
  const std::uint64_t at = place->byte % data_block;
  // Readers expect numbers at multiples of their size, of at most 8 bytes; not all sources have them there.
  const std::uint64_t alignment = std::gcd<std::uint64_t>(element, 8);
  return at % alignment == 0 ? std::optional(static_cast<std::uint32_t>(at)) : std::nullopt;
}

/// What becomes of a source's leaves (Schema::leaves) in an output.
struct LeafChoice {
  std::vector<Group> as_json;     ///< texts by group (the root's path is empty), if nothing else is to show them
  std::vector<std::string> lost;  ///< others that no tree holds: "args (argparse.Namespace)"
};

/// One leaf in all files that have it.
struct LeafOfAll {
  const Leaf* first = nullptr;
  bool differs = false;
  bool is_carried = false;
};

/// Whether a leaf is a random state, such as "rng_state/0/np_rng_state": each card has its own.
bool is_random_state(const std::string& name) {
  return name.find("rng") != std::string::npos || name.find("random") != std::string::npos;
}

std::map<std::string, LeafOfAll> of_all_files(const std::vector<SourceSchema>& source_schemas, const CardFiles& files,
                                              const SourceTrees& trees, const NewName& new_name) {
  std::map<std::string, LeafOfAll> leaves;
  for (const SourceSchema& source_schema : source_schemas)
    for (const Leaf& leaf : source_schema.schema->leaves) {
      if (follows_from_ranks(leaf.name) || (trees.has_all_sidecars() && trees.is_in_sidecar(leaf.name))) continue;
      const std::string name = files.entries()[source_schema.entry].prefix + leaf.name;
      const auto other = new_value_name(new_name, *source_schema.schema, name);
      if (!other) continue;
      LeafOfAll& all = leaves[*other];
      if (all.first == nullptr) all.first = &leaf;
      all.differs = all.differs || leaf.digest != all.first->digest;
      all.is_carried = all.is_carried || (leaf.is_carried && trees.used().contains(source_schema.schema));
    }
  return leaves;
}

void add_as_json(const std::string& name, const Leaf& leaf, std::map<std::string, Group>& groups) {
  const std::size_t slash = name.rfind('/');
  const std::string path = slash == std::string::npos ? "" : name.substr(0, slash);
  Group& group = groups.try_emplace(path, Group{path, {}}).first->second;
  group.attributes.push_back({slash == std::string::npos ? name : name.substr(slash + 1), text_value(leaf.json)});
}

/// `trees`: the trees that the output takes, which carry leaves; adds a warning if another card has different ones.
/// States of random generators may differ. Leaves that match `dropped`, or get no new name, do not count as lost.
LeafChoice choose_leaves(const std::vector<SourceSchema>& source_schemas, const CardFiles& files,
                         const SourceTrees& trees, const std::vector<Pattern>& dropped, const NewName& new_name,
                         std::vector<std::string>& warnings) {
  LeafChoice choice;
  std::map<std::string, Group> groups;
  std::vector<std::string> differing;
  for (const auto& named : of_all_files(source_schemas, files, trees, new_name)) {
    const std::string& name = named.first;
    const auto& leaf = named.second;
    const std::string in_words = name + " (" + leaf.first->what + ")";
    if (leaf.is_carried && leaf.differs && !is_random_state(name)) differing.push_back(in_words);
    const bool is_in_json = (trees.used().empty() || !trees.has_trees()) && !leaf.first->json.empty();
    if (is_in_json) add_as_json(name, *leaf.first, groups);
    const bool is_missed =
        std::none_of(dropped.begin(), dropped.end(), [&](const auto& each) { return each.matches(name); });
    if (!is_in_json && !leaf.is_carried && is_missed) choice.lost.push_back(in_words);
  }
  if (!differing.empty())
    warnings.push_back("values that differ between cards; the lowest card's are kept: " + join(differing));
  for (auto& [path, group] : groups) choice.as_json.push_back(std::move(group));
  return choice;
}

void add_group(const Group& group, std::vector<Group>& groups) {
  const auto at = std::lower_bound(groups.begin(), groups.end(), group,
                                   [](const Group& a, const Group& b) { return a.path < b.path; });
  if (at == groups.end() || at->path != group.path)
    groups.insert(at, group);
  else
    at->attributes.insert(at->attributes.end(), group.attributes.begin(), group.attributes.end());
}

}  // namespace

std::vector<ArrayTexts> long_texts(const Checkpoint& source, const Planner& planner) {
  const Placement& from = planner.source();
  const ArrayFiles where(from);
  const std::vector<Position> by_card = from.mesh().by_card();
  std::vector<ArrayTexts> texts;
  for (ArrayId target = 0; target < planner.target().arrays().size(); ++target) {
    const ArrayPlace& place = planner.target().arrays()[target];
    if (!place.verbatim) continue;
    const ArrayId array = from.array_of(planner.source_of(place.members.front()));
    const auto card = std::ranges::find_if(by_card, [&](Position each) { return from.holds(each, array); });
    if (card == by_card.end()) continue;
    const FileNumber file = where.file(*card, array);
    const Schema& schema = *source.file(file).schema;
    const std::size_t found = schema.find(where.name(array));
    if (found < schema.datasets.size() && schema.datasets[found].texts)
      texts.push_back({target, file, &schema.datasets[found]});
  }
  return texts;
}

HeldTexts blank_texts(const std::vector<ArrayTexts>& texts) {
  HeldTexts blank;
  for (const ArrayTexts& each : texts) {
    const LongTexts& of = *each.dataset->texts;
    blank[each.dataset] = {of.dtype, Shape(of.shape.size(), 1), wire::packed(std::string_view())};
  }
  return blank;
}

FileSpecs::FileSpecs(const Checkpoint& source, const Planner& planner, const ArrayFiles& where,
                     const std::string& manifest, const SourceTrees& trees, const std::vector<Pattern>& dropped,
                     const NewName& new_name, bool has_index, HeldTexts held, bool is_placed_as_source)
    : source_(source),
      planner_(planner),
      where_(where),
      tied_(tied_arrays(source, planner)),
      held_(std::move(held)),
      new_name_(new_name),
      layout_text_(to_json(planner.target().layout())),
      manifest_text_(manifest),
      has_index_(has_index) {
  const ArrayFiles from_files(planner_.source());
  for (ArrayId array = 0; array < planner_.target().arrays().size(); ++array)
    in_block_.push_back(is_placed_as_source ? in_block(array, source_, planner_, from_files) : std::nullopt);
  const auto all = source_schemas(source_);
  std::vector<std::string> differing;
  LeafChoice leaves = choose_leaves(all, source_.layout().files, trees, dropped, new_name, differing);
  if (trees.used().empty())
    lost_leaves_ = std::move(leaves.lost);
  else if (!leaves.lost.empty())
    warnings_.push_back("values that the files do not have whose trees are written again: " + join(leaves.lost) +
                        "; they are left out");
  const ValueNames names(planner_, new_name, dropped);
  std::vector<const Schema*> schemas;
  for (const SourceSchema& source_schema : all) schemas.push_back(source_schema.schema);
  const auto left_out = left_out_values(schemas, has_other_cards());
  if (!left_out.empty())
    warnings_.push_back("attributes that say how the source was cut: " + join({left_out.begin(), left_out.end()}) +
                        "; they are left out");
  if (const auto kept = kept_values(schemas, has_other_cards()); !kept.empty())
    warnings_.push_back("values that say how the source was cut: " + join({kept.begin(), kept.end()}) +
                        "; they are kept as they are, for a tree is the framework's own");
  auto groups = merged_groups(all, source_.layout().files, planner_.target().layout().files, names, differing);
  for (const Group& group : leaves.as_json) add_group(group, groups);
  std::vector<Attribute> of_roots;
  if (!groups.empty() && groups.front().path.empty()) {
    of_roots = std::move(groups.front().attributes);
    groups.erase(groups.begin());
  }
  root_attributes_ = root_attributes(all, source_.layout().files, planner_.target().layout().files, names, differing);
  for (auto& attributes : root_attributes_) attributes.insert(attributes.end(), of_roots.begin(), of_roots.end());
  // If some output file takes each file's tree, values that differ are not lost.
  if (!trees.are_all_used(all)) warnings_.insert(warnings_.end(), differing.begin(), differing.end());
  groups_ = shared_out(std::move(groups), planner_.target().layout().files, warnings_);
  if (trees.has_all_sidecars()) {  // the directory's objects are in its tree
    for (auto& attributes : root_attributes_) attributes.clear();
    for (auto& of_entry : groups_) of_entry.clear();
  }
  std::set<std::string> telling;  // arrays about which some file says more than shape and dtype
  for (const SourceSchema& source_schema : all)
    for (std::size_t i = 0; i < source_schema.schema->datasets.size(); ++i)
      if (const Dataset& dataset = source_schema.schema->datasets[i];
          dataset.verbatim || dataset.texts || !dataset.attributes.empty())
        telling.insert((*source_schema.schema->arrays)[i].name);
  const auto by_card = planner_.source().mesh().by_card();
  array_sources_.reserve(planner_.target().arrays().size());
  for (const ArrayPlace& place : planner_.target().arrays()) {
    const ParameterId from = planner_.source_of(place.members.front());
    const bool tells = telling.contains(from_files.name(planner_.source().array_of(from))) &&
                       !planner_.target().layout().table_offsets.contains(place.name);
    array_sources_.push_back(tells ? array_source(from, place, from_files, by_card) : ArraySource{});
  }
  if (!left_out_of_arrays_.empty())
    warnings_.push_back("attributes of arrays that say which piece they were: " +
                        join({left_out_of_arrays_.begin(), left_out_of_arrays_.end()}) + "; they are left out");
}

/// A bucket's members have no attributes of their own, and a bucket has no place for any.
FileSpecs::ArraySource FileSpecs::array_source(ParameterId parameter, const ArrayPlace& target,
                                               const ArrayFiles& from_files, const std::vector<Position>& by_card) {
  const Placement& from = planner_.source();
  ArraySource source;
  if (target.members.size() > 1 || planner_.links(target.members.front()) != nullptr ||
      planner_.target().shardings()[target.members.front()].bucket || from.shardings()[parameter].bucket)
    return source;
  const ArrayId array = from.array_of(parameter);
  std::deque<std::vector<Attribute>> kept;
  std::vector<const std::vector<Attribute>*> lists;
  std::set<const Schema*> seen;
  for (const Position card : by_card) {
    const Schema* schema = source_.file(from_files.file(card, array)).schema.get();
    if (seen.contains(schema) || !from.holds(card, array)) continue;
    seen.insert(schema);
    const std::size_t found = schema->find(from_files.name(array));
    if (found >= schema->datasets.size()) continue;
    const std::vector<Attribute>& attributes = schema->datasets[found].attributes;
    lists.push_back(has_other_cards() ? &kept.emplace_back(without_places(attributes, left_out_of_arrays_))
                                      : &attributes);
    if (source.first != nullptr) continue;
    source.first = &schema->datasets[found];
    source.file = from_files.file(card, array);
  }
  source.attributes = merged(lists, "/" + from.arrays()[array].name, warnings_);
  return source;
}

bool FileSpecs::has_other_cards() const {
  return !(planner_.source().mesh() == planner_.target().mesh());
}

void FileSpecs::add_attribute(const Attribute& attribute) {
  for (auto& attributes : root_attributes_)
    if (std::none_of(attributes.begin(), attributes.end(),
                     [&](const Attribute& each) { return each.name == attribute.name; }))
      attributes.push_back(attribute);
}

void FileSpecs::set_attribute(const Attribute& attribute) {
  for (auto& attributes : root_attributes_)
    std::erase_if(attributes, [&](const Attribute& each) { return each.name == attribute.name; });
  add_attribute(attribute);
}

FileSpec::Array FileSpecs::array_spec(ArrayId array, const Form& form) const {
  const Placement& target = planner_.target();
  const ArrayPlace& place = target.arrays()[array];
  FileSpec::Array spec;
  spec.name = where_.name(array);
  spec.dtype = place.dtype;
  spec.shape = form.shape;
  spec.origin = form.origin;
  if (has_index_ && planner_.links(place.members.front()) == nullptr) {
    spec.source_name = planner_.source().tensors()[planner_.source_of(place.members.front())].name;
    if (new_name_) spec.source_name = new_name_(spec.source_name).value_or(spec.source_name);
  }
  if (const auto number = target.shardings()[place.members.front()].bucket) {
    const Bucket& bucket = target.layout().buckets[*number];
    // If the last piece is short, its card does not know the others' length.
    if (!bucket.last_is_short) spec.global_shape = Shape{spec.shape[0] * target.mesh().shape[bucket.axis]};
  } else {
    spec.global_shape = target.tensors()[place.members.front()].shape;
  }
  spec.place_in_block = in_block_[array];
  spec.attributes = array_sources_[array].attributes;
  // A dataset's attribute about its dtype, which Keras writes, is not true for another dtype.
  if (!(planner_.source().tensors()[planner_.source_of(place.members.front())].dtype == place.dtype))
    std::erase_if(spec.attributes, [](const Attribute& attribute) { return attribute.name == "dtype"; });
  if (const Dataset* const first = array_sources_[array].first) {
    const auto held = held_.find(first);
    spec.verbatim = held == held_.end() ? first->verbatim : held->second;
    if (first->texts && !spec.verbatim)
      spec.texts = TextsOfFile{*first->texts, source_.file_path(array_sources_[array].file)};
  }
  return spec;
}

FileSpec FileSpecs::spec(std::size_t entry, const Forms& forms) const {
  FileSpec spec;
  std::vector<std::size_t> places(forms.size());  // in the specification
  spec.arrays.reserve(static_cast<std::size_t>(
      std::count_if(forms.begin(), forms.end(), [](const auto& form) { return form.has_value(); })));
  for (ArrayId array = 0; array < forms.size(); ++array) {
    if (!forms[array]) continue;
    places[array] = spec.arrays.size();
    spec.arrays.push_back(array_spec(array, *forms[array]));
    if (const auto other = tied_[array]; other && forms[*other] == forms[array])
      spec.arrays.back().same_as = places[*other];
  }
  spec.attributes = root_attributes_[entry];
  spec.groups = groups_[entry];
  spec.layout = layout_text_;
  spec.manifest = manifest_text_;
  spec.has_checksum = has_checksum_;
  return spec;
}

std::shared_ptr<const FileSpec> FileSpecs::of(FileNumber file, SourceTrees::Tree tree) {
  const Placement& target = planner_.target();
  const Position card = where_.table().owner(file);
  const std::size_t entry = where_.table().entry(file);
  Forms forms(target.arrays().size());
  for (ArrayId array = 0; array < forms.size(); ++array)
    if (where_.entry(array) == entry && target.holds(card, array)) forms[array] = form_of(array, card);
  const std::lock_guard lock(mutex_);
  if (!spec_ || entry != entry_ || forms != forms_ || tree != spec_->tree) {
    FileSpec made = spec(entry, forms);
    made.tree = std::move(tree);
    spec_ = std::make_shared<const FileSpec>(std::move(made));
    entry_ = entry;
    forms_ = std::move(forms);
  }
  if (!has_index_ || file == 0) return spec_;
  auto data_alone = std::make_shared<FileSpec>(*spec_);
  data_alone->attributes.clear();
  data_alone->groups.clear();
  return data_alone;
}

FileSpecs::Form FileSpecs::form_of(ArrayId array, Position card) const {
  const Placement& target = planner_.target();
  Form form{target.stored_shape(array, card), std::nullopt};
  if (!has_index_) return form;
  form.origin = Shape(form.shape.size());
  target.for_each_region(array, card, {0, numel(form.shape)},
                         [&](ParameterId, const Region& region) { form.origin = region.box.lo; });
  return form;
}

std::vector<std::string> FileSpecs::source_names(std::size_t entry, const std::string& stored) const {
  const Placement& target = planner_.target();
  std::vector<std::string> names;
  for (ArrayId array = 0; array < target.arrays().size(); ++array) {
    if (where_.entry(array) != entry || where_.name(array) != stored) continue;
    for (const ParameterId member : target.arrays()[array].members)
      planner_.for_each_source(member,
                               [&](ParameterId from) { names.push_back(planner_.source().tensors()[from].name); });
  }
  return names;
}

std::vector<std::string> FileSpecs::losses(Store& store) const {
  const auto all = source_schemas(source_);
  std::vector<std::string> losses;
  if (!lost_leaves_.empty()) losses.push_back(join(lost_leaves_));
  // In a directory with an index, only a tree carries what its framework keeps besides tensors.
  const bool has_own_tree =
      (store.index() == nullptr || store.trees() != nullptr) &&
      std::ranges::all_of(all, [&](const SourceSchema& each) { return each.schema->format == store.name(); });
  if (has_own_tree && (store.trees() == nullptr || store.trees()->holds_array_attributes())) return losses;
  const Placement& target = planner_.target();
  std::set<std::string> told;
  for (std::size_t entry = 0; entry < groups_.size(); ++entry) {
    Forms forms(target.arrays().size());
    for (ArrayId array = 0; array < forms.size(); ++array)
      if (const auto& members = target.arrays()[array].members; where_.entry(array) == entry)
        forms[array] =
            Form{members.size() == 1 ? target.tensors()[members.front()].shape : InternedShape{1}, std::nullopt};
    FileSpec of_entry = spec(entry, forms);
    if (has_own_tree) of_entry.attributes.clear();
    const auto lost = with_source_names([&](const std::string& stored) { return source_names(entry, stored); },
                                        [&] { return store.losses(of_entry); });
    for (const std::string& what : lost)
      if (told.insert(what).second) losses.push_back(what);
  }
  return losses;
}

std::optional<PartialSum> FileSpecs::sum_of_value(ArrayId array) const {
  const Dataset* const first = array_sources_[array].first;
  if (first == nullptr || !(first->verbatim || first->texts)) return std::nullopt;
  return ckpt::sum_of_value(*first);
}

void warn_of_losses(const FileSpecs& specs, Store& store) {
  for (const std::string& warning : specs.warnings()) log::warn(warning);
  for (const std::string& what : specs.losses(store)) log::warn("the output's format cannot hold {}: left out", what);
}

}  // namespace ckpt
