#include "jobs/reshard_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/dequantised_files.hpp"
#include "frameworks/describe.hpp"
#include "frameworks/indexed_layout.hpp"
#include "frameworks/rank_pieces.hpp"
#include "frameworks/torch_dist.hpp"
#include "jobs/average.hpp"
#include "jobs/conflict_source.hpp"
#include "jobs/dequantise.hpp"
#include "jobs/indexed_store.hpp"
#include "jobs/name_maps.hpp"
#include "jobs/tree_names.hpp"
#include "jobs/types/selection.hpp"
#include "layout/language/change_layout.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/better_pattern.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/model_files.hpp"
#include "layout/names/naming.hpp"
#include "layout/placement/scale_cuts.hpp"
#include "output/dropped_names.hpp"
#include "output/file_specs.hpp"
#include "output/output_format.hpp"
#include "output/target_files.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

void add_values(const Schema& schema, std::vector<std::string>& names) {
  for (const Attribute& attribute : schema.attributes) names.push_back(attribute.name);
  for (const Group& group : schema.groups) {
    names.push_back(group.path);
    for (const Attribute& attribute : group.attributes) names.push_back(group.path + "/" + attribute.name);
  }
  for (const Leaf& leaf : schema.leaves) names.push_back(leaf.name);
}

std::vector<std::string> values_of(const std::vector<const Checkpoint*>& checkpoints) {
  std::vector<std::string> names;
  std::set<const Schema*> seen;
  for (const Checkpoint* each : checkpoints)
    for (const FileCatalog& file : each->files())
      if (file.schema && seen.insert(file.schema.get()).second) add_values(*file.schema, names);
  return names;
}

bool is_used(const Pattern& pattern, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return pattern.matches(name); });
}

/// Warns of each pattern of a job that matches no name, with a pattern that would match some, or else the nearest
/// names. `parameters`: all logical names of the first source. Values besides tensors are matched by the names in their
/// files.
void warn_of_unused_patterns(const NameChoice& choice, std::vector<std::string> parameters, ReshardSides& sides) {
  if (choice.takes_all() && choice.rename.empty()) return;
  const std::vector<const Checkpoint*> sources = sides.checkpoints();
  for (const Checkpoint* each : sources)
    if (each->path() != sides.checkpoint.path())
      static_cast<void>(resolve(*each, [&](const std::string& name) {
        parameters.push_back(name);
        return false;
      }));
  std::optional<std::vector<std::string>> values;
  const auto look = [&](const std::string& option, const Pattern& pattern, const std::vector<std::string>& names,
                        const std::string& before = "") {
    if (is_used(pattern, names)) return;
    if (!values) values = values_of(sources);
    if (!before.empty() || !is_used(pattern, *values))
      sides.source.warnings.push_back(option + shell_word(before + pattern.text()) + " matches no name; " +
                                      better_pattern(pattern, names, before));
  };
  const auto look_at_side = [&](const std::string& option, const SidePattern& each) {
    const auto& [of_source, of_output] = sides.selection.sides;
    const std::vector<std::string> none;
    look(option, each.names,
         each.side == of_output   ? sides.selection.made
         : each.side == of_source ? parameters
                                  : none,
         each.side + ":");
  };
  for (const Pattern& each : choice.only) look("--only ", each, parameters);
  for (const SidePattern& each : choice.only_of_side) look_at_side("--only ", each);
  for (const Pattern& each : choice.drop) look("--drop ", each, parameters);
  for (const SidePattern& each : choice.drop_of_side) look_at_side("--drop ", each);
  if (choice.mapping) return;  // --rename speaks of what a map made
  for (const Rename& each : choice.rename) look("--rename ", each.stored, parameters);
}

void check_keeps_trees(const Store& store) {
  if (store.traits().keeps_trees || store.trees() != nullptr) return;
  throw Error(Kind::usage, "--leaves tree",
              {"an output of format " + std::string(store.name()) + " is to keep trees",
               "a format whose files have room for one", "write HDF5 or safetensors, or leave the option out"});
}

/// A format whose directories have an index is read by that index, never a file alone.
void check_is_whole_file(const ReshardJob& job, const Store& store) {
  if (store.index() == nullptr) return;
  throw Error(Kind::usage, job.output.path.string(),
              {"one file of " + std::string(store.name()) + ", which nothing reads without the directory's index",
               "a directory", "write --format " + std::string(store.name()) + " -o DIR"});
}

void resolve_model_files(const ReshardJob& job, Stores& stores, ReshardSides& sides) {
  const Format& format = output_format(stores.formats(), job.format, "");
  sides.store = &stores.named(format.name);
  if (job.keeps_trees) check_keeps_trees(*sides.store);
  const std::vector<Tensor>& tensors = sides.selection.tensors;
  sides.target =
      resolve_target(job.target.is_like_expected ? model_files_by_group(tensors, sides.model.file_of, format.ending)
                                                 : model_files(tensors, *job.target.file_bytes, format.ending),
                     tensors);
  if (sides.target.placement.mesh().size() > 1) sides.index_name = model_index_name(format.ending);
}

/// The tensors' names in a format with an index; empty for tensors that have no place in it.
std::vector<std::string> names_in_index(const ReshardSides& sides) {
  const Store& store = *sides.store;
  const std::vector<Tensor>& tensors = sides.selection.tensors;
  const auto& files = sides.checkpoint.files();
  const bool keeps_names =
      sides.indexed_by == &store ||
      std::all_of(files.begin(), files.end(), [&](const FileCatalog& file) { return has_form_of(file, store); });
  if (is_torch_dist(store)) {
    if (!keeps_names) return torch_dist_names(tensors);
    check_torch_dist_names(tensors);
  }
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors)
    names.push_back(keeps_names ? tensor.name.str() : store.index()->tensor_name(tensor.name));
  return names;
}

void warn_of_nameless(const std::vector<std::string>& names, ReshardSides& sides) {
  std::vector<std::string> nameless;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].empty()) nameless.push_back(sides.selection.tensors[i].name);
  if (!nameless.empty())
    sides.source.warnings.push_back("neither weights nor their state in the optimizer: " + join(nameless) +
                                    "; as values, the first card's are kept, and each rank's states of generators");
}

void leave_out_empty(std::vector<std::string>& names, ReshardSides& sides) {
  std::vector<std::string> empty;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (numel(sides.selection.tensors[i].shape) == 0) empty.push_back(std::exchange(names[i], ""));
  if (!empty.empty())
    sides.source.warnings.push_back("the output's format cannot hold tensors without elements: " + join(empty) +
                                    ": left out");
}

/// Plans for a format with an index, which has each piece of a tensor once, as a separate array, and no groups.
void resolve_pieces(ReshardSides& sides) {
  std::vector<std::string> names = names_in_index(sides);
  warn_of_nameless(names, sides);
  if (sides.store->traits().lacks_empty) leave_out_empty(names, sides);
  if (auto warning = is_torch_dist(*sides.store) ? unread_states(names) : ""; !warning.empty())
    sides.source.warnings.push_back(std::move(warning));
  const Layout layout = indexed_layout(sides.target.placement, names, *sides.store->index());
  sides.selection = renamed(sides.selection, names, "as / becomes .");
  sides.target.placement = resolve_target(layout, sides.selection.tensors).placement;
  sides.index_name = sides.store->index()->name();
}

/// Spreads the tensors of a job by the layout. If no rule matches a tensor that the job takes, the output's layout has
/// no rules: a reader would take it for the layout of another checkpoint.
Resolved resolve_chosen(Layout layout, const std::vector<Tensor>& tensors, bool are_all) {
  Resolved target = resolve_target(layout, tensors, are_all);
  const Shardings& shardings = target.placement.shardings();
  bool is_used = are_all || layout.parameters.empty() || !layout.table_arrays.empty();
  for (ParameterId i = 0; i < shardings.size(); ++i) is_used = is_used || shardings[i].rule || shardings[i].bucket;
  if (is_used) return target;
  layout.parameters.clear();
  target.placement = resolve_target(layout, tensors).placement;
  return target;
}

/// A layout's rules for the new names of a job that renames: one for each way of cutting, which lists its names.
/// Nothing for layouts whose other sections depend on names.
std::optional<Layout> rules_renamed(const Layout& source, const ReshardSides& sides) {
  if (!source.indices.empty() || !source.buckets.empty()) return std::nullopt;
  const Naming naming(source);
  Layout rules;
  rules.mesh = source.mesh;
  rules.default_rule = source.default_rule;
  std::map<std::string, std::size_t> rule_of;  // by the keys' text
  for (std::size_t i = 0; i < sides.selection.tensors.size(); ++i) {
    const auto decision = naming.decide(sides.source.placement.tensors()[sides.selection.source_of[i]].name);
    if (!decision) continue;
    const auto [rule, is_new] = rule_of.try_emplace(to_json(decision->keys, source.mesh), rules.parameters.size());
    if (is_new) rules.parameters.push_back({{}, decision->keys, std::nullopt, std::nullopt});
    rules.parameters[rule->second].names.emplace_back(literal(sides.selection.tensors[i].name));
  }
  return rules;
}

/// The layout whose rules cut a checkpoint: the one that its directory says, that by which it was merged, or its own.
/// Nothing if it was never cut, or does not say. Collective.
std::optional<Layout> rules_of(const Checkpoint& checkpoint, Communicator& processes) {
  const Layout& own = checkpoint.layout_elsewhere();
  const bool says_itself = &own != &checkpoint.layout();  // a framework's directory, such as DCP's
  if (!says_itself)
    if (auto rules = merged_by(checkpoint, processes)) return rules;
  const bool has_rules = !own.parameters.empty() || !own.buckets.empty() || !own.indices.empty() || !own.tables.empty();
  return has_rules || own.mesh.size() != 1 ? std::optional(own) : std::nullopt;
}

/// The rules that a merged output keeps: those of its source, for the names that it has. Empty if there are none.
std::string kept_rules(const ReshardJob& job, const ReshardSides& sides, const std::optional<Layout>& source) {
  constexpr std::size_t most_bytes = 16 << 20;
  if (!source || !source->tables.empty()) return "";
  if (job.names.takes_masters) return "";  // they cut the optimizer's copies, under other names
  std::optional<Layout> rules = without_left_out(job.names, sides.source, sides.selection, *source);
  if (!job.names.rename.empty()) rules = rules_renamed(*source, sides);
  if (!rules) return "";
  rules->files = CardFiles();
  std::string text = to_json(*rules);
  return text.size() > most_bytes ? std::string() : text;
}

/// If nothing says how a source is cut on another mesh, each card has a copy of all: warns, or throws usage if the job
/// is to cut.
void check_rules(const ReshardJob& job, ReshardSides& sides, const std::optional<Layout>& rules) {
  if (job.target.layout || job.target.file_bytes || rules || job.target.cards == 1) return;
  const std::string found =
      "it does not say by which rules it was cut: it never was, or another program merged it, or ckpt merge of a "
      "version before 0.3.0";
  const char* const remedy = "give a layout of the output with --to";
  if (job.target.must_cut)
    throw Error(Kind::usage, sides.checkpoint.path().string(), {found, "rules for another mesh", remedy});
  sides.source.warnings.push_back(sides.checkpoint.path().string() + ": " + found +
                                  "; each card gets a copy of every parameter; " + remedy + " to cut them");
}

/// Warns that pieces of the ranks' files (rank_files) are written as plain tensors, each with its card's data.
void warn_of_plain_pieces(const ReshardJob& job, ReshardSides& sides) {
  const auto& files = sides.checkpoint.files();
  const bool has_pieces =
      std::any_of(files.begin(), files.end(), [](const FileCatalog& file) { return says_pieces(*file.schema); });
  if (job.target.layout || job.output.is_single_file || !has_pieces || !sides.store->traits().is_read_by_ranks ||
      sides.store->index() != nullptr)
    return;
  sides.source.warnings.emplace_back(
      "the output's files are called card_N, not as the framework calls its ranks' files: they hold each card's pieces "
      "as plain tensors, where it expects ones that say which pieces they are; --format dcp writes what it loads on "
      "any "
      "number of ranks");
}

/// In a file that takes a tree, tensors have the tree's paths as their names.
void take_names_of_tree(ReshardSides& sides) {
  const Checkpoint& checkpoint = sides.checkpoint;
  if (!sides.selection.links.empty()) return;  // other names than the tree's
  if (!sides.store->takes_trees_of(checkpoint.files().front().schema->format)) return;
  if (const auto names = names_in_tree(checkpoint, sides.source.placement, sides.selection))
    sides.selection = renamed(sides.selection, *names, "its path in dicts and lists");
}

/// Throws usage if master weights are asked for and the checkpoint does not say which they are.
void check_has_masters(const ReshardJob& job, const Checkpoint& checkpoint) {
  if (!job.names.takes_masters || !checkpoint.masters().empty()) return;
  std::string remedy = "leave it out, and choose by name (ckpt inspect lists them)";
  // An output of these programs is read by its manifest; DeepSpeed's own directory in it says more.
  if (!checkpoint.files().empty()) {
    const std::filesystem::path step = checkpoint.path() / *std::filesystem::path(checkpoint.file_name(0)).begin();
    if (SelfDescribed::find(step)) remedy = "give " + shell_word(step.string());
  }
  throw Error(Kind::usage, "--master-weights",
              {"given for " + checkpoint.path().string() + ", which does not say what its master weights are",
               "a directory of DeepSpeed's ZeRO 1 to 3", remedy});
}

/// Returns the end of a warning that advises --master-weights and says what it does. A map of names refuses that
/// option.
std::string masters_advice(const ReshardJob& job, const std::string& effect) {
  if (!job.names.mapping) return "; --master-weights " + effect;
  return "; merge with --master-weights first, which " + effect + ", and then what that wrote with the map of names";
}

/// Warns if master weights are taken as the model: that leaves out frozen and tied weights and buffers, which lack
/// master weights.
void warn_of_half_models(const ReshardJob& job, ReshardSides& sides) {
  const auto& masters = sides.checkpoint.masters();
  if (job.names.takes_masters || masters.empty()) return;
  const auto is_of_model = [](const std::string& name) { return name.find('/') == std::string::npos; };
  bool takes_masters = false;
  for (std::size_t i = 0; i < sides.selection.tensors.size(); ++i)
    takes_masters =
        takes_masters || (is_of_model(sides.selection.tensors[i].name) &&
                          !is_of_model(sides.source.placement.tensors()[sides.selection.source_of[i]].name));
  if (!takes_masters) return;
  std::vector<std::string> missing;
  for (const std::string& name : sides.source.left_out)
    if (const auto master = masters.find(name); is_of_model(name) && !sides.selection.find(name) &&
                                                (master == masters.end() || !master->second.ends_with("/" + name)))
      missing.push_back(name);
  if (!missing.empty())
    sides.source.warnings.push_back(
        "tensors of the model that have no master weights are left out: " + join(missing) +
        masters_advice(job, "takes master weights where there are any, and all else as it is"));
}

/// Warns if rounded weights are widened although the checkpoint has their master weights, too.
void warn_of_rounded_weights(const ReshardJob& job, ReshardSides& sides) {
  if (job.names.takes_masters || sides.checkpoint.masters().empty()) return;
  std::vector<std::string> widened;
  for (std::size_t i = 0; i < sides.selection.tensors.size(); ++i) {
    const Tensor& source = sides.source.placement.tensors()[sides.selection.source_of[i]];
    if (sides.selection.tensors[i].dtype.size > source.dtype.size && sides.checkpoint.masters().contains(source.name))
      widened.push_back(sides.selection.tensors[i].name);
  }
  if (!widened.empty())
    sides.source.warnings.push_back("rounded weights are cast to a wider dtype, and stay rounded: " + join(widened) +
                                    masters_advice(job, "takes the optimizer's unrounded ones"));
}

/// Throws input for an output without tensors, which is a mistake. Only warns if the source lacks tensors, too, and the
/// output keeps its objects whole, which may contain some.
void check_any_tensor(ReshardSides& sides) {
  if (!sides.selection.tensors.empty() || !sides.checkpoint.layout().tables.empty()) return;
  const auto takes_objects = [&](const FileCatalog& file) {
    const std::vector<Leaf>& leaves = file.schema->leaves;
    return sides.store->takes_trees_of(file.schema->format) &&
           std::ranges::any_of(leaves, [](const Leaf& leaf) { return leaf.is_carried && leaf.json.empty(); });
  };
  if (sides.source.placement.tensors().empty() && std::ranges::any_of(sides.checkpoint.files(), takes_objects)) {
    sides.source.warnings.push_back(sides.checkpoint.path().string() +
                                    ": no tensor in it has a name; the output holds its objects alone");
    return;
  }
  throw Error(Kind::input, sides.checkpoint.path().string(),
              {"no tensor is in it that could be written", "at least one",
               "where a job's settings or states alone are meant, copy it as it is; ckpt inspect shows what is in it"});
}

/// The tensors that a choice of names leaves out of a checkpoint, for the casts.
std::vector<Tensor> left_out_tensors(const ReshardJob& job, const Checkpoint& checkpoint, const Placement& source) {
  std::vector<Tensor> left_out;
  if (job.casts.empty() || job.names.takes_all()) return left_out;
  const Naming naming(checkpoint.layout());
  std::set<const Schema*> seen;
  for (const FileCatalog& file : checkpoint.files()) {
    if (!file.schema || !seen.insert(file.schema.get()).second) continue;
    for (const StoredArray& array : *file.schema->arrays)
      if (const std::string name = naming.renamed(array.name); !source.find(name))
        left_out.push_back({name, array.dtype, array.shape, array.verbatim});
  }
  return left_out;
}

/// Throws usage if a dequantised weight would be rounded a second time.
void check_rounded_once(const ReshardJob& job, const ReshardSides& sides) {
  if (!job.dequantised) return;
  const auto& weights = sides.checkpoint.dequantised()->units();
  for (std::size_t i = 0; i < sides.selection.tensors.size(); ++i) {
    const Tensor& read = sides.source.placement.tensors()[sides.selection.source_of[i]];
    const DType& written = sides.selection.tensors[i].dtype;
    const TensorLinks* const links = sides.selection.links_of(i);
    if (links != nullptr && links->scaling() && read.dtype.size < sizeof(float) && weights.contains(read.name))
      throw Error(Kind::usage, "parameter '" + read.name.str() + "'",
                  {"--dequantize rounds it to " + read.dtype.name.str() + ", and then the map recomputes it",
                   "one rounding", "write --dequantize f32 and --cast " + written.name.str()});
    if (written.size >= sizeof(float) || written == read.dtype || !weights.contains(read.name)) continue;
    throw Error(Kind::usage, "parameter '" + read.name.str() + "'",
                {"--dequantize rounds it to " + read.dtype.name.str() + ", and then it is to be " + written.name.str(),
                 "one rounding", "write --dequantize " + written.name.str()});
  }
}

/// Returns what leaves out the tensors that are not expected, if nothing else deviates; else nothing. Models with tied
/// weights have fewer in a directory of Hugging Face's than training saves.
std::string surplus_remedy(const ReshardSides& sides, const Deviations& found) {
  constexpr std::size_t most = 4;  // of more, the layout or the map is wrong
  const std::size_t count = found.extra.not_allowed.size();
  if (count == 0 || count > most || found.tensors != count) return "";
  std::string options;
  for (const std::string& name : found.extra.not_allowed) {
    const auto taken = sides.selection.find(name);
    if (!taken || sides.selection.links_of(*taken) != nullptr) return "";
    const std::string& read = sides.source.placement.tensors()[sides.selection.source_of[*taken]].name;
    options += " --drop " + shell_word(literal(read));
  }
  return "leave out what is too much with" + options;
}

/// Runs `refuse`. If one side's weights are quantised and the other's are not, its error says so.
template <class Refuse>
void with_advice_on_codes(const ReshardSides& sides, const Refuse& refuse) {
  try {
    refuse();
  } catch (Error& error) {
    if (const std::string advice = advice_on_codes(sides.selection, sides.expected); !advice.empty())
      error.advise(advice);
    throw;
  }
}

/// Throws input if the output is to have other names than the source, and no map was chosen for them.
void check_map_chosen(const ReshardJob& job, const ReshardSides& sides) {
  if (!job.names.mapping) return;
  std::vector<std::string> names;
  for (const Tensor& tensor : sides.selection.tensors) names.push_back(tensor.name);
  const auto is_expected = [&](const std::string& name) { return sides.expected.shape(name).has_value(); };
  if (std::ranges::any_of(names, is_expected)) return;
  if (const auto text = missing_map(*job.names.mapping, names, sides.expected.names()); !text.found.empty())
    throw Error(Kind::input, sides.expected.origin(), text);
}

/// A directory of a model has no place for the trainer's objects: they are left out, with a note.
void drop_leaves(const Checkpoint& checkpoint, ReshardSides& sides) {
  std::set<std::string> names;
  for (const FileCatalog& file : checkpoint.files())
    if (file.schema)
      for (const Leaf& leaf : file.schema->leaves) names.insert(leaf.name);
  for (const std::string& name : names) sides.dropped.emplace_back(literal(name));
  if (!names.empty()) sides.selection.notes.push_back("no tensors, left out: " + join({names.begin(), names.end()}));
}

/// Throws usage if --only takes none of `names`, all that the source has.
void check_any_chosen(const NameChoice& choice, const Placement& chosen, const std::vector<std::string>& names) {
  if (choice.only.empty() || choice.names_sides() || names.empty() || !chosen.tensors().empty()) return;
  const Pattern& first = choice.only.front();
  if (is_used(first, names)) return;  // --drop left nothing of it
  throw Error(Kind::usage, "--only " + shell_word(first.text()),
              {"no parameter", "at least one", better_pattern(first, names), {Advice::What::choose_others, ""}});
}

/// Resolves the source by its layout, and selects what the job takes of it. Returns the source's logical names, if the
/// job chooses among them. Collective.
std::vector<std::string> resolve_source_side(const ReshardJob& job, SourceStore& store, Communicator& processes,
                                             ReshardSides& sides) {
  const Checkpoint& checkpoint = sides.checkpoint;
  const ConflictSource conflict = conflict_source(checkpoint, store, job.names, sides.expected, job.casts);
  const auto deviations = [&](bool has_hints) {
    const CountedNames names(job.names, sides.source, sides.selection);
    return sides.expected.of(sides.selection, sides.source.placement, &names, has_hints);
  };
  const bool has_choice = !job.names.takes_all() || !job.names.rename.empty();
  Deviations found;
  std::vector<std::string> names;
  agree(processes, [&] { check_has_masters(job, checkpoint); });
  explain_conflict(conflict, processes, [&] {
    agree(processes, [&] {
      std::set<std::string> all;
      const auto keep = [&](const std::string& name) {
        all.insert(name);
        return conflict.keep(name);
      };
      sides.source = has_choice ? resolve(checkpoint, keep, conflict.expected_shape)
                                : resolve(checkpoint, conflict.keep, conflict.expected_shape);
      if (job.names.takes_masters)
        for (const auto& [name, of] : checkpoint.masters()) all.insert(name);
      names.assign(all.begin(), all.end());
      check_any_chosen(job.names, sides.source.placement, names);
      sides.selection = select_weights(job.names, sides.source.placement, checkpoint.masters());
      sides.history.names = sides.selection.map;
      for (std::string& warning : cast(job.casts, sides.source.placement, sides.selection,
                                       left_out_tensors(job, checkpoint, sides.source.placement)))
        sides.source.warnings.push_back(std::move(warning));
      sides.dropped = job.names.drop;
      if (job.target.is_like_expected) {
        if (const std::string line =
                cast_as_expected(sides.expected, job.casts, sides.source.placement, sides.selection);
            !line.empty())
          sides.selection.notes.push_back(line);
        drop_leaves(checkpoint, sides);
      }
      check_rounded_once(job, sides);
      found = deviations(true);
    });
  });
  const std::string change = found.lines.empty() ? "" : fitting_change(conflict, processes);
  agree(processes, [&] {
    if (job.names.mapping && processes.rank() == 0)
      check_trainer(*job.names.mapping, sides.selection.recut_states, checkpoint, store);
    if (!found.lines.empty()) check_map_chosen(job, sides);
    with_advice_on_codes(sides, [&] {
      sides.expected.refuse(change.empty() ? found : deviations(false), checkpoint.layout().origin,
                            change.empty() ? surplus_remedy(sides, found) : change, job.names.rename.empty());
    });
  });
  return names;
}

/// Throws usage for an average that would be rounded a second time, or reckoned with.
void check_average(const ReshardSides& sides, std::size_t i, const std::optional<DType>& known) {
  const Tensor& tensor = sides.selection.tensors[i];
  const TensorLinks* const links = sides.selection.links_of(i);
  if (sides.source.placement.layout().table_arrays.contains(
          sides.source.placement.tensors()[sides.selection.source_of[i]].name))
    throw Error(
        Kind::usage, "--average",
        {"parameter '" + tensor.name + "' belongs to a table", "parameters whole", "leave tables out with --drop"});
  if (links != nullptr && links->scaling())
    throw Error(Kind::usage, "--average",
                {"the map recomputes '" + tensor.name + "' from the average, which is rounded", "one rounding",
                 "average first, then merge the output with the map"});
  if (known && *known != tensor.dtype)
    throw Error(Kind::usage, "--average",
                {"'" + tensor.name + "' is to be " + tensor.dtype.name.str() +
                     ", and what is made of the same tensor " + known->name.str(),
                 "one dtype, to which their average is rounded once",
                 "give --cast " + tensor.dtype.name.str() + ", or average first and cast then"});
}

/// Makes the source the average of several checkpoints, in the dtypes that the output is to have. Collective.
void average_sources(const ReshardJob& job, SourceStore& store, Communicator& processes, ReshardSides& sides) {
  Selection& selection = sides.selection;
  std::vector<std::optional<DType>> taken(sides.source.placement.tensors().size());
  agree(processes, [&] {
    for (std::size_t i = 0; i < selection.tensors.size(); ++i) {
      Tensor& tensor = selection.tensors[i];
      const Tensor& read = sides.source.placement.tensors()[selection.source_of[i]];
      if (job.dequantised && sides.checkpoint.dequantised()->units().contains(read.name) && !is_cast(job.casts, read))
        tensor.dtype = *job.dequantised;
      check_average(sides, i, taken[selection.source_of[i]]);
      taken[selection.source_of[i]] = tensor.dtype;
      if (const TensorLinks* const links = selection.links_of(i))
        links->for_each_source([&](ParameterId from) { taken[from] = tensor.dtype; });
    }
  });
  const AverageChoice choice{
      .places = job.average,
      .names = job.names,
      .map = job.map,
      .first_copies = job.first_copies,
      .dequantised = job.dequantised,
      .models = job.expectation ? std::vector{job.expectation->reference} : std::vector<std::filesystem::path>(),
      .is_like_model = job.target.is_like_expected,
      .resources = job.resources};
  average(sides.checkpoint, sides.source.placement, taken, choice, store, processes);
  agree(processes, [&] {
    sides.source.placement =
        resolve(sides.checkpoint, conflict_source(sides.checkpoint, store, job.names, sides.expected).keep).placement;
    for (std::size_t i = 0; i < selection.tensors.size(); ++i)
      if (const DType& made = sides.source.placement.tensors()[selection.source_of[i]].dtype;
          are_same_numbers(made, selection.tensors[i].dtype))
        selection.tensors[i].dtype = made;
  });
  sides.history.averaged = averaged_json(sides.checkpoint, job.average, processes);
}

/// A file that keeps a tree cannot be written in order: tensors that share a storage are written once, and the tree
/// must stay as it was.
[[noreturn]] void refuse_pipe(const Format& format) {
  throw Error(Kind::usage, "an output of format " + std::string(format.name),
              {"it is to go to a pipe", "a format that is written from its beginning to its end",
               "write it to a file, or in another format"});
}

/// A format with an index stores each piece of a tensor by its corner, which has no meaning for tables.
[[noreturn]] void refuse_tables(const Layout& target, const Format& format) {
  throw Error(Kind::usage, "dataset " + target.table_arrays.begin()->first + " of a table",
              {"it is to be written in the format " + std::string(format.name), "one whose files stand for themselves",
               "write HDF5"});
}

std::set<std::string> source_formats(const Checkpoint& checkpoint) {
  std::set<std::string> names;
  for (const FileCatalog& file : checkpoint.files()) names.insert(file.schema->format);
  return names;
}

/// The names of the source's parameters from which one of the output is made; none if it has no such.
std::vector<std::string> source_names(const ReshardSides& sides, const std::string& name) {
  const Selection& selection = sides.selection;
  const auto made = selection.find(name);
  if (!made) return {};
  std::vector<std::string> names{sides.source.placement.tensors()[selection.source_of[*made]].name};
  if (const TensorLinks* const links = selection.links_of(*made))
    links->for_each_source([&](ParameterId from) { names.push_back(sides.source.placement.tensors()[from].name); });
  return names;
}

/// Refuses elements that the format's readers refuse; only warns if they come from a file of the same format.
void check_readers(ReshardSides& sides) {
  const Store& store = *sides.store;
  const bool is_same_format = source_formats(sides.checkpoint) == std::set<std::string>{std::string(store.name())};
  std::vector<std::string> refused;
  std::set<std::string> sources;
  std::string_view reader;
  std::string type;
  for (std::size_t i = 0; i < sides.selection.tensors.size(); ++i) {
    const Tensor& tensor = sides.selection.tensors[i];
    if (const std::string_view here = store.refused_by(tensor.dtype); !here.empty() && !tensor.verbatim) {
      if (refused.empty()) type = tensor.dtype.name;
      refused.push_back(tensor.name);
      for (const std::string& name : source_names(sides, tensor.name)) sources.insert(name);
      reader = here;
    }
  }
  if (refused.empty()) return;
  const std::string found = std::string(reader) + " refuses the whole of a file with elements of " + type;
  if (is_same_format) return sides.source.warnings.push_back(join(refused) + ": " + found);
  throw Error(Kind::input, "parameter " + join(refused),
              {found, "elements that the output's readers take", "write HDF5 (--format hdf5)",
               leaving_out({sources.begin(), sources.end()})});
}

bool is_table_part(const Placement& placement, const Tensor& tensor) {
  return placement.layout().table_arrays.contains(tensor.name);
}

/// Opens the deltas. Parameters outside tables come from the newest checkpoint that has any. Collective.
void open_deltas(const ReshardJob& job, SourceStore& store, Communicator& processes, ReshardSides& sides) {
  if (job.deltas.empty()) return;
  const NameFilter name_filter(job.names);
  const auto resolved = [&](const Checkpoint& checkpoint) {
    return resolve(checkpoint, [&](const std::string& name) { return name_filter.is_kept(name); });
  };
  for (const CheckpointPlace& delta : job.deltas)
    sides.other_layers.push_back(
        {Checkpoint::open(with_threads(delta, job.resources, processes), store, processes), {}});
  agree(processes, [&] {
    for (std::size_t at = 0; at < sides.other_layers.size(); ++at) {
      auto& [checkpoint, of_delta] = sides.other_layers[at];
      of_delta = resolved(checkpoint);
      for (const std::string& warning : of_delta.warnings) log::warn(warning);
      const Placement& placement = of_delta.placement;
      if (std::any_of(placement.tensors().begin(), placement.tensors().end(),
                      [&](const Tensor& tensor) { return !is_table_part(placement, tensor); }))
        sides.layer = at + 1;
    }
    if (sides.layer == 0) return;
    TableLayerSource principal = std::move(sides.other_layers[sides.layer - 1]);
    sides.other_layers.erase(sides.other_layers.begin() + static_cast<std::ptrdiff_t>(sides.layer - 1));
    std::swap(principal.checkpoint, sides.checkpoint);
    principal.resolved = resolved(principal.checkpoint);
    sides.other_layers.insert(sides.other_layers.begin(), std::move(principal));
  });
}

/// A checkpoint that has some parameters outside tables must have all: else the rest would be lost, or from another
/// step.
void check_complete(const ReshardSides& sides) {
  for (const TableLayerSource& other : sides.other_layers) {
    const Placement& placement = other.resolved.placement;
    for (const Tensor& tensor : placement.tensors())
      if (!is_table_part(placement, tensor) && !sides.source.placement.find(tensor.name))
        throw Error(Kind::input, sides.checkpoint.path().string(),
                    {"it has parameters beside its tables, but not '" + tensor.name + "'",
                     "all that " + other.checkpoint.path().string() + " has, or none",
                     "leave them out with --drop, or merge the parameters apart from the tables"});
  }
}

std::vector<TableSource> table_sources(const ReshardSides& sides) {
  std::vector<TableSource> sources;
  for (const TableLayerSource& other : sides.other_layers)
    sources.push_back({&other.checkpoint, &other.resolved.placement});
  sources.insert(sources.begin() + static_cast<std::ptrdiff_t>(sides.layer),
                 TableSource{&sides.checkpoint, &sides.source.placement});
  return sources;
}

/// Chooses the store of the output's format, and the types of texts in it.
const Format& choose_format(const ReshardJob& job, const Layout& layout, Stores& stores, ReshardSides& sides) {
  std::string file_name = job.output.path.empty() ? "merged" : job.output.path.string();
  if (!job.output.is_single_file)
    file_name = job.target.names_files || !layout.files.is_default() ? layout.files.entries().front().path.text()
                                                                     : std::string();
  std::set<std::string> sources = source_formats(sides.checkpoint);
  if (!job.output.is_single_file && sides.indexed_by != nullptr) sources = {std::string(sides.indexed_by->name())};
  if (job.output.is_pipe)
    std::erase_if(sources, [&](const std::string& name) { return stores.named(name).trees() != nullptr; });
  const Format& format = output_format(stores.formats(), job.format, file_name, sources);
  sides.store = &stores.named(format.name);
  for (Tensor& tensor : sides.selection.tensors)
    if (tensor.verbatim && tensor.dtype.kind == ElementKind::text) tensor.dtype = sides.store->text_dtype(tensor.dtype);
  if (job.keeps_trees) check_keeps_trees(*sides.store);
  if (job.output.is_pipe && sides.store->trees() != nullptr) refuse_pipe(format);
  return format;
}

/// Spreads the tensors of a job over the output's files.
void resolve_output(const ReshardJob& job, Stores& stores, const Format* format, PlannedTables& tables,
                    ReshardSides& sides) {
  if (job.target.file_bytes) return resolve_model_files(job, stores, sides);
  if (!tables.target.table_arrays.empty() && sides.store->index() != nullptr) refuse_tables(tables.target, *format);
  if (job.output.is_single_file) {
    check_is_whole_file(job, *sides.store);
    take_names_of_tree(sides);
  }
  sides.target = resolve_chosen(with_ending(tables.target, stores.formats(), *format, job.format.empty()),
                                sides.selection.tensors, job.names.takes_all());
  if (sides.store->index() != nullptr) resolve_pieces(sides);
  warn_of_plain_pieces(job, sides);
  // An index says where each piece of a tensor is, and readers put the pieces together; without one, cuts matter.
  if (sides.store->index() == nullptr)
    for (std::string& warning :
         check_scale_cuts(sides.target.placement, sides.source.placement, sides.selection.source_of))
      sides.source.warnings.push_back(std::move(warning));
  find_target_arrays(sides.target.placement, tables.plan);
}

}  // namespace

std::vector<const Checkpoint*> ReshardSides::checkpoints() const {
  if (checkpoint.averaged() != nullptr) return checkpoint.averaged()->sources();
  std::vector<const Checkpoint*> all;
  for (const TableLayerSource& other : other_layers) all.push_back(&other.checkpoint);
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(layer), &checkpoint);
  return all;
}

ReshardSides resolve_sides(const ReshardJob& job, const ReadBefore& before, Stores& stores, Communicator& processes,
                           Counters& counters) {
  ReshardSides sides{
      .expected =
          before.expected != nullptr ? *before.expected : ExpectedTensors(job.expectation, stores.reading(), processes),
      .checkpoint = before.source != nullptr ? *before.source
                                             : Checkpoint::open(with_threads(job.source, job.resources, processes),
                                                                stores.reading(), processes)};
  agree(processes, [&] { sides.checkpoint.take_first_copies(job.first_copies); });
  open_deltas(job, stores.reading(), processes, sides);
  sides.indexed_by = indexed_store(sides.checkpoint, stores, processes);
  if (job.target.is_like_expected) {
    agree(processes, [&] {
      if (processes.rank() == 0) sides.model = ModelDirectory::at(job.expectation->reference);
    });
    sides.model.file_of = value_of(0, sides.model.file_of, processes);
  }
  if (job.dequantised) {
    // An average is rounded once: before it, weights are f32.
    dequantise(sides.checkpoint, job.average.empty() ? *job.dequantised : number_type("f32").value(), job.names,
               job.dequantised, stores.reading(), processes);
    sides.model.dequantise(sides.expected.weights_of_codes());
    std::set<std::string> weights;
    for (const auto& [name, unit] : sides.checkpoint.dequantised()->units()) weights.insert(name);
    sides.expected.excuse_dtypes(std::move(weights));
  }
  std::vector<std::string> names = resolve_source_side(job, stores.reading(), processes, sides);
  if (!job.average.empty()) average_sources(job, stores.reading(), processes, sides);
  agree(processes, [&] {
    warn_of_unused_patterns(job.names, std::move(names), sides);
    check_complete(sides);
    warn_of_half_models(job, sides);
    warn_of_rounded_weights(job, sides);
  });
  const bool is_merged = job.target.file_bytes || (job.target.layout && job.target.layout->mesh.size() == 1);
  std::optional<Layout> rules;
  if (is_merged || !job.target.layout) rules = rules_of(sides.checkpoint, processes);
  Layout layout;
  const Format* format = nullptr;
  agree(processes, [&] {
    check_rules(job, sides, rules);
    if (is_merged) sides.history.merged_by = kept_rules(job, sides, rules);
    if (job.target.file_bytes) return;
    layout = without_left_out(job.names, sides.source, sides.selection,
                              target_layout(job.target, rules ? *rules : sides.checkpoint.layout_elsewhere()));
    if (!job.target.layout)
      for (std::string& warning : padding_warnings(sides.checkpoint.layout(), layout))
        sides.source.warnings.push_back(std::move(warning));
    format = &choose_format(job, layout, stores, sides);
  });
  if (!sides.checkpoint.layout().tables.empty()) counters.phase = Phase::keys;
  PlannedTables tables = plan_tables(job, table_sources(sides), sides.layer, sides.selection, std::move(layout),
                                     stores.reading(), processes);
  agree(processes, [&] {
    with_source_names([&](const std::string& name) { return source_names(sides, name); },
                      [&] { resolve_output(job, stores, format, tables, sides); });
  });
  sides.tables = std::move(tables.plan);
  check_moved_codes(sides.checkpoint, sides.source.placement, sides.target.placement, processes);
  agree(processes, [&] {
    check_any_tensor(sides);
    check_readers(sides);
    if (job.has_checksums && sides.store->checksum() == nullptr)
      throw Error(Kind::usage, "an output of format " + std::string(sides.store->name()),
                  {"each file is to have a CRC", "the format mindspore, which has one",
                   "choose that format, or ask for no CRC"});
  });
  return sides;
}

void warn_of_layouts(const ReshardJob& job, const Stores& stores, const ReshardSides& sides) {
  for (const std::string& note : sides.selection.notes) log::info("{}", note);
  const Format* const of_file = format_by_ending(stores.formats(), job.output.path.string());
  if (!job.output.is_single_file && of_file != nullptr && of_file->index_name.empty())
    log::warn("{} is a directory with several files, though its ending is that of one file ({})",
              job.output.path.string(), of_file->name);
  if (job.output.is_single_file && !job.output.is_pipe && !job.output.path.empty())
    for (const Format& format : stores.formats())
      if (format.name == sides.store->name())
        warn_of_ending(stores.formats(), job.output.path.string(), format, !job.format.empty());
  for (const std::string& warning : sides.source.warnings) log::warn(warning);
  // Rules for parameters that are left out match nothing, and the source's own rules were warned of already.
  if (job.target.layout && job.names.takes_all())
    for (const std::string& warning : sides.target.warnings) log::warn(warning);
}

ExchangeKind wanted_exchange(const ReshardJob& job, bool has_tables, bool is_shared, int processes) {
  if (job.resources.exchange != ExchangeKind::automatic || processes == 1) return job.resources.exchange;
  return job.output.is_pipe || (has_tables && !is_shared) ? ExchangeKind::mpi : ExchangeKind::automatic;
}

std::vector<bool> moved_by_regions(const ReshardSides& sides) {
  std::vector<bool> is_moved(sides.source.placement.tensors().size(), false);
  sides.selection.for_each_source([&](ParameterId parameter) { is_moved[parameter] = true; });
  return without_tables(std::move(is_moved), sides.source.placement);
}

std::vector<Equality> equal_pairs(const ReshardSides& sides) {
  const std::vector<ParameterId>& source_of = sides.selection.source_of;
  std::set<ParameterId> taken;
  sides.selection.for_each_source([&](ParameterId parameter) { taken.insert(parameter); });
  std::set<std::pair<ParameterId, ParameterId>> known;
  for (const auto& [parameter, other] : sides.source.placement.equalities())
    if (taken.contains(parameter) && taken.contains(other)) known.emplace(parameter, other);
  for (const auto& [parameter, other] : sides.target.placement.equalities())
    if (sides.selection.links_of(parameter) == nullptr && sides.selection.links_of(other) == nullptr)
      known.emplace(source_of[parameter], source_of[other]);
  for (const auto& [parameter, other] : sides.selection.equal) known.emplace(parameter, other);
  std::vector<Equality> pairs;
  for (const auto& [parameter, other] : known) pairs.push_back({parameter, other});
  return pairs;
}

namespace {

/// Processes write in the order of their numbers if all see all files, otherwise host by host. The first one is process
/// 0 where that completes a file: a single one by its manifest, and the first of trees.
std::vector<std::uint32_t> order_of_writing(const ReshardSides& sides, const ReshardJob& job,
                                            const std::vector<std::uint32_t>& hosts) {
  const Checkpoint& source = sides.checkpoint;
  if (source.is_shared()) return order_by_hosts({}, {}, hosts);
  std::vector<std::uint32_t> order =
      order_by_hosts(source.owners(static_cast<std::uint32_t>(hosts.size())), source.card_bytes(), hosts);
  if (job.output.is_single_file || sides.store->trees() != nullptr)
    std::stable_partition(order.begin(), order.end(),
                          [&](std::uint32_t process) { return hosts[process] == hosts[0]; });
  return order;
}

}  // namespace

MovePlan::MovePlan(const ReshardSides& sides, ExchangeKind kind, const ReshardJob& job,
                   const std::vector<std::uint32_t>& hosts)
    : readers(
          sides.source.placement,
          kind == ExchangeKind::direct ? Owners{} : sides.checkpoint.owners(static_cast<std::uint32_t>(hosts.size())),
          job.replicas == ReplicaCheck::full, hosts),
      planner(sides.source.placement, sides.target.placement, sides.selection.source_of, readers,
              sides.selection.links),
      casts(planner),
      shares(sides.target.placement, order_of_writing(sides, job, hosts), !job.output.is_pipe && !job.is_view) {}

MemoryShares divide_memory(std::uint64_t memory_bytes, const ReshardSides& sides, const Planner& planner,
                           bool holds_texts) {
  const Placement& source = sides.source.placement;
  std::vector<bool> is_read(source.arrays().size(), false);
  for (ParameterId p = 0; p < sides.target.placement.tensors().size(); ++p)
    planner.for_each_source(p, [&](ParameterId from) { is_read[source.array_of(from)] = true; });
  LargestChunk largest = largest_chunk(sides.checkpoint, source, [&](ArrayId array) { return is_read[array]; });
  if (holds_texts)
    for (const ArrayTexts& each : long_texts(sides.checkpoint, planner))
      largest.value_bytes = checked_add(largest.value_bytes, each.dataset->texts->bytes);
  return share_memory(memory_bytes, 2, largest);
}

}  // namespace ckpt
