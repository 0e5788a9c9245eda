#include "inspect/inspect_program.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/directory_hints.hpp"
#include "checkpoint/found_files.hpp"
#include "checkpoint/indexed_files.hpp"
#include "checkpoint/missing_layout.hpp"
#include "cli/advice.hpp"
#include "cli/external.hpp"
#include "cli/job_options.hpp"
#include "cli/layout_text.hpp"
#include "cli/number_types.hpp"
#include "cli/processes.hpp"
#include "diagnosis/fitting_change.hpp"
#include "frameworks/describe.hpp"
#include "inspect/below.hpp"
#include "inspect/draft_program.hpp"
#include "inspect/names_view.hpp"
#include "inspect/picture.hpp"
#include "inspect/render.hpp"
#include "jobs/name_maps.hpp"
#include "layout/names/better_pattern.hpp"
#include "layout/names/naming.hpp"
#include "report/output.hpp"
#include "report/render.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

constexpr const char* every_map = "?";  ///< --names without a map

/// Returns whether a layout says nothing of a name, as a draft does of what is open.
class IsOpen {
 public:
  /// `layout` must outlive it.
  explicit IsOpen(const Layout& layout) : naming_(layout) {
    for (const Bucket& bucket : layout.buckets)
      for (const BucketMember& member : bucket.members) members_.insert(member.name);
  }
  bool operator()(const std::string& name) const { return !members_.contains(name) && !naming_.decide(name); }

 private:
  Naming naming_;
  std::set<std::string> members_;
};

/// As `resolve`, but leaves out the arrays that cannot be read (StoredArray::refusal), which have no shape, and with
/// `open` those that the layout says nothing of, which it lists: for showing what is there, not for moving it.
Resolved resolve_readable(const Checkpoint& checkpoint, const ExpectedShape& expected,
                          std::vector<std::string>* open = nullptr) {
  std::set<std::string> unreadable = unreadable_names(checkpoint.layout(), checkpoint.card_arrays());
  std::set<std::string> contradicted;
  std::set<std::string> reasons;
  for (const auto& [name, why] : checkpoint.contradictions()) {
    contradicted.insert(name);
    reasons.insert(why.what());
  }
  unreadable.insert(contradicted.begin(), contradicted.end());
  if (unreadable.empty() && open == nullptr) return resolve(checkpoint, {}, expected);
  const IsOpen is_open(checkpoint.layout());
  Resolved resolved = resolve(
      checkpoint,
      [&](const std::string& name) { return !unreadable.contains(name) && (open == nullptr || !is_open(name)); },
      expected);
  if (open != nullptr)
    std::copy_if(resolved.left_out.begin(), resolved.left_out.end(), std::back_inserter(*open),
                 [&](const std::string& name) { return !unreadable.contains(name); });
  if (!contradicted.empty())
    resolved.warnings.push_back("not shown: " + join({contradicted.begin(), contradicted.end()}, 4) + "; " +
                                join({reasons.begin(), reasons.end()}, 3));
  return resolved;
}

Placement placement_of(const Checkpoint& checkpoint, const ExpectedTensors& expected, SourceStore& store,
                       std::vector<std::string>* open) {
  const auto alone = single_process();
  ConflictSource conflict{checkpoint, store};
  conflict.expected_shape = [&](const std::string& name) { return expected.shape(name); };
  Resolved resolved;
  explain_conflict(conflict, *alone, [&] {
    agree(*alone, [&] { resolved = resolve_readable(checkpoint, conflict.expected_shape, open); });
  });
  for (const auto& warning : resolved.warnings) log::warn(warning);
  return std::move(resolved.placement);
}

/// --only and --drop.
struct Choice {
  std::vector<Pattern> only;
  std::vector<Pattern> drop;

  bool is_everything() const { return only.empty() && drop.empty(); }
  bool is_asked_for(const std::string& name) const { return only.empty() || is_in(only, name); }
  bool has(const std::string& name) const { return is_asked_for(name) && !is_in(drop, name); }

 private:
  static bool is_in(const std::vector<Pattern>& patterns, const std::string& name) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const Pattern& pattern) { return pattern.matches(name); });
  }
};

/// Keeps the entries that are chosen. Throws input if none is.
template <class Entries>
void keep_chosen(Entries& entries, const Choice& choice) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const auto& entry : entries) names.push_back(entry.name);
  std::erase_if(entries, [&](const auto& entry) { return !choice.has(entry.name); });
  if (!entries.empty()) return;
  if (names.empty())
    throw Error(Kind::input, choice.only.empty() ? "--drop" : "--only",
                {"the checkpoint has no parameters", "some to choose among", "leave the option out"});
  if (choice.only.empty())
    throw Error(Kind::input, "--drop", {"leaves no parameter", "at least one", "it matches all: " + join(names)});
  const std::string text = choice.only[0].text();
  std::vector<std::string> dropped = names;
  std::erase_if(dropped, [&](const std::string& name) { return !choice.is_asked_for(name); });
  if (!dropped.empty())
    throw Error(Kind::input, "--only '" + text + "'",
                {"leaves no parameter beside --drop", "at least one", "--drop matches all of them: " + join(dropped)});
  throw Error(Kind::input, "--only '" + text + "'",
              {"matches no parameter", "", better_pattern(choice.only[0], names)});
}

void keep_requested(Inspection& inspection, const Choice& choice) {
  inspection.with_boxes = !choice.only.empty();
  if (choice.is_everything()) return;
  inspection.survey.attributes.clear();
  inspection.survey.leaves.clear();
  if (!inspection.placement) return keep_chosen(inspection.survey.parameters, choice);
  std::erase_if(inspection.open, [&](const std::string& name) { return !choice.has(name); });
  if (!inspection.open.empty()) {  // they may be all that is asked for
    std::erase_if(inspection.logical, [&](const auto& entry) { return !choice.has(entry.name); });
  } else {
    keep_chosen(inspection.logical, choice);
  }
  const std::set<std::string> open(inspection.open.begin(), inspection.open.end());
  std::erase_if(inspection.survey.parameters, [&](const StoredParameter& stored) {
    return !open.contains(stored.name) &&
           std::none_of(inspection.logical.begin(), inspection.logical.end(),
                        [&](const LogicalParameter& logical) { return logical.stored_name == stored.name; });
  });
}

std::string framework_of(const std::filesystem::path& directory) {
  if (const auto described = SelfDescribed::find(directory)) return described->name();
  const std::vector<std::filesystem::path> entries = sorted_entries(directory);
  return std::any_of(entries.begin(), entries.end(), is_index) ? "with an index" : "";
}

bool advises_draft(const Error& error) {
  return error.text().advice.what == Advice::What::draft_layout ||
         error.next_advice().what == Advice::What::draft_layout;
}

Inspection inspect(const InspectOptions& options, const FoundCheckpoint& found, const ExpectedTensors& expected,
                   const Choice& choice, SourceStore& store) {
  Inspection inspection{.path = options.path,
                        .survey = survey(found),
                        .has_given_layout = !options.layout.empty(),
                        .framework = framework_of(options.path),
                        .may_be_drafted = !found.unplaced || advises_draft(*found.unplaced),
                        .with_all = options.all};
  if (found.checkpoint) {
    inspection.placement =
        placement_of(*found.checkpoint, expected, store, options.picture.empty() ? nullptr : &inspection.open);
    inspection.logical = logical_view(*inspection.placement);
    inspection.tables = table_views(*found.checkpoint, *inspection.placement, options.key, store);
    if (!options.key.empty() && inspection.tables.empty())
      throw Error(Kind::usage, "--key",
                  {"given for a checkpoint without tables", "\"tables\" in " + found.checkpoint->layout().origin,
                   "leave it out, or give another layout"});
  } else if (!options.key.empty()) {
    throw Error(Kind::usage, "--key",
                {"given for files that carry no layout", "their layout", "give it with --layout"});
  }
  keep_requested(inspection, choice);
  return inspection;
}

/// The logical parameters, if there is a layout; else those of a single file that holds everything whole.
const Placement& expected_in(const FoundFiles& files, const Inspection& inspection, std::optional<Placement>& whole) {
  if (inspection.placement) return *inspection.placement;
  if (files.names.size() != 1)
    throw Error(Kind::usage, "--expect",
                {"given for files that carry no layout", "their layout", "give it with --layout"});
  whole =
      resolve_readable(Checkpoint::of(inspection.path, true, single_card(), {files.catalogs.front()}), {}).placement;
  return *whole;
}

/// The layout of a strategy, or of a checkpoint that describes its own.
Layout layout_of(const InspectOptions& options, Communicator& processes) {
  Stores stores;
  allow_external(options.allow_external, stores);
  read_number_types(options.number_types, stores.numbers());
  if (auto own = layout_of_itself(options.as_layout, stores.reading(), processes)) return std::move(*own);
  return read_layout(options.as_layout, options.path, processes);
}

std::vector<OpenParameter> open_parameters(const Inspection& inspection) {
  std::vector<OpenParameter> open;
  for (const std::string& name : inspection.open) {
    const auto& all = inspection.survey.parameters;
    const auto stored = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    open.push_back({name, stored == all.end() ? "" : stored_text(*stored, inspection.survey)});
  }
  return open;
}

std::string picture_of(const Inspection& inspection) {
  if (!inspection.placement)
    throw Error(
        Kind::usage, "--picture",
        {inspection.path + " carries no layout of its own", "one that says which card holds what", "give --layout"});
  const Placement& placement = *inspection.placement;
  const Mesh& mesh = placement.mesh();
  std::string axes;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis)
    axes += (axis > 0 ? " × " : "") + mesh.axes[axis] + "=" + std::to_string(mesh.shape[axis]);
  std::vector<ParameterId> parameters;
  for (const auto& parameter : inspection.logical) parameters.push_back(parameter.id);
  std::vector<std::string> lines{
      placement.layout().origin + ": " + axes + ", " + counted(mesh.size(), "card") + "; " +
          counted(parameters.size(), "parameter"),
      "Cards that hold the same have one colour, with hatching from the ninth on; light grey is what all hold that "
      "hold any. Sides are not to scale where pieces need room for their labels."};
  if (!inspection.open.empty())
    lines.push_back("Dark grey: " + counted(inspection.open.size(), "parameter") +
                    " that the layout has no rule for yet.");
  return picture_svg({inspection.path, std::move(lines)},
                     panels_of(placement, parameters, !inspection.with_boxes, open_parameters(inspection)));
}

/// Returns the map of names to show, or null. Padding of an output is unknown here.
std::shared_ptr<const NameMapping> mapping_of(const InspectOptions& options, const std::optional<Layout>& layout,
                                              Communicator& processes) {
  MapWish wish;
  wish.is_padded = [](const std::string&, std::size_t) { return true; };
  MapPlaces places{layout ? &*layout : nullptr, nullptr, false, {options.path}};
  if (!options.expectation.reference.empty()) places.models.emplace_back(options.expectation.reference);
  MapChoice choice;
  if (options.names == every_map) return nullptr;
  agree(processes, [&] { choice = parse_map(options.names, options.sizes); });
  choice.allows_arithmetic = true;  // nothing is written
  return load_mapping(choice, places, std::move(wish), processes);
}

/// Finds what PATH is. A directory above checkpoints is an error like any other, after which is shown how to look at
/// each of them.
FoundCheckpoint find_what_is_meant(const InspectOptions& options, const std::optional<Layout>& layout,
                                   SourceStore& store, Communicator& processes) {
  try {
    FoundCheckpoint found = find_checkpoint({options.path, layout}, store, processes);
    agree(processes, [&] {
      if (found.checkpoint || found.files.is_single_file) return;
      if (auto above = above_checkpoints(found.files, store)) throw std::move(*above);
    });
    return found;
  } catch (const Error&) {
    if (processes.rank() == 0 && !options.json) print(commands_below(options.path, store));
    throw;
  }
}

/// `layout`: that of PATH, if it is known already.
void run_inspection(const InspectOptions& options, std::optional<Layout> layout, Communicator& processes) {
  Choice choice;
  std::optional<Expectation> expectation;
  std::unique_ptr<ResultFile> picture;
  agree(processes, [&] {
    expectation = parse_expectation(options.expectation);
    if (!options.picture.empty() && processes.rank() == 0)
      picture = std::make_unique<ResultFile>(picture_kind(), options.picture, "");
    choice = {parse_globs("--only", options.only), parse_globs("--drop", options.drop)};
  });
  if (!options.layout.empty()) layout = read_layout(options.layout, options.path, processes);
  Stores stores;
  allow_external(options.allow_external, stores);
  read_number_types(options.number_types, stores.numbers());
  const ExpectedTensors expected(expectation, stores.reading(), processes);
  const FoundCheckpoint found = find_what_is_meant(options, layout, stores.reading(), processes);
  warn_of_unused_types(options.number_types, stores.numbers(), processes);
  const auto mapping = mapping_of(options, layout, processes);
  for (const auto& reason : {found.damaged_manifest, found.unplaced})
    if (reason) log::warn("{}", message(*reason));
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    const Inspection inspection = inspect(options, found, expected, mapping ? Choice() : choice, stores.reading());
    if (mapping || options.names == every_map) {
      std::optional<Placement> alone;
      const Placement& placement = expected_in(found.files, inspection, alone);
      if (!mapping) return print(ready_maps_text(placement, output_width()));
      NameChoice names{choice.only, choice.drop, {}};
      names.take_mapping(mapping);
      const Lines text = names_text(placement, names, output_width());
      if (found.checkpoint) check_trainer(*mapping, {}, *found.checkpoint, stores.reading());
      return print(text);
    }
    if (picture != nullptr) picture->write(picture_of(inspection));
    if (options.json)
      print(Lines::as_they_are(inspection_json(inspection)));
    else if (picture == nullptr)
      print(inspection_text(inspection, output_width()));
    std::optional<Placement> whole;
    if (expectation) expected.refuse(expected.of(expected_in(found.files, inspection, whole)), options.path);
  });
}

/// A draft is drawn with what is open in it, and without a comparison with what the draft was made from.
void draw_draft(InspectOptions options, Layout layout, Communicator& processes) {
  options.expectation = {};
  run_inspection(options, std::move(layout), processes);
}

void declare_mesh(CommandLine& line, const std::string& when, std::string& to) {
  line.value("--mesh", to, "AXIS=N,...",
             when +
                 "the axes of the job that saved PATH, the one that numbers cards fastest last; without it as far "
                 "as equal bytes tell");
}

void declare_evidence(CommandLine& line, const std::string& when, InspectOptions& options) {
  line.repeated("--unfused", options.unfused, "GLOB",
                when +
                    "no dimension of the parameters whose names match is fused (QKV, gate and up), so that their "
                    "shapes alone decide; may be repeated");
  line.value("--tolerance", options.tolerance, "REL[,ABS]",
             when +
                 "the tensors of --expect are of another step of the same training; of each parameter the root mean "
                 "square of the differences is at most REL of that of the values, or ABS");
}

void declare_shown(CommandLine& line, InspectOptions& options) {
  line.group("What to show");
  line.value("--layout,(--from)", options.layout, "A.json",
             "layout of PATH (-: standard input); may be left out where the checkpoint carries it; shapes stand before "
             "the cards that hold them, \"0-31, 48\", \"1-19:2\" being every second from 1 to 19");
  line.repeated(
      "--only,(--param)", options.only, "GLOB",
      "only the parameters whose names match, and with a layout the box that each card holds; may be repeated");
  line.repeated("--drop", options.drop, "GLOB", "all but the parameters whose names match; may be repeated");
  line.flag("--all", options.all,
            "on a terminal, too, a row for each parameter, and all attributes and values; else more than 24 parameters "
            "are summed up there");
  line.value("--key", options.key, "KEY",
             "where this key of tables is, and nothing else: its server, its row there and what it holds, or where it "
             "would be");
  line.value(
      "--picture", options.picture, "OUT.svg",
      "with a layout or --draft, instead of tables, an SVG picture of which card holds what of each parameter (-: "
      "standard output); alike parameters and the members of a bucket as one, unless --only chooses them; grey "
      "what the layout has no rule for");
  line.flag("--draft", options.draft,
            "a layout of PATH on standard output, as far as names, shapes and bytes prove it; what they leave open is "
            "listed on standard error (exit status 1)");
  declare_mesh(line, "with --draft: ", options.mesh);
  declare_evidence(line, "with --draft: ", options);
  line.value(
      "--as-layout", options.as_layout, "WHAT",
      "instead of tables, a layout as JSON: that of a strategy file of MindSpore, or of a directory with one for "
      "each pipeline stage; or the one that a checkpoint carries, or says of itself. PATH may then be left out");
  line.value_or_none(
      "--names", options.names, "MAP[#SIDE]",
      "instead of tables of PATH, what a map of names makes of it: a line for each tensor of the other side, with "
      "the tensors that it is made of; a file, or a map that comes with the programs, such as llama. Without MAP, as "
      "the last word, which of these maps takes how many of PATH's names",
      every_map);
  line.repeated("--size", options.sizes, "NAME=N", "with --names: a size of the map, or a field of config.json");
  line.flag("--json", options.json, "JSON instead of tables");
}

void declare_inspect_options(CommandLine& line, bool is_draft, InspectOptions& options) {
  line.positional("PATH", options.path);
  if (is_draft) {
    line.group("Draft");
    declare_mesh(line, "", options.mesh);
    declare_evidence(line, "", options);
  } else {
    declare_shown(line, options);
  }
  declare_external(line, options.allow_external);
  declare_number_types(line, options.number_types);
  declare_alone(line, options.alone);
  declare_expectation(line, options.expectation, "all parameters");
  declare_messages(line, options.messages);
}

/// Throws usage for a file that its ending says is to be something else. A name without an ending may be a pipe's.
void check_picture(const std::string& path) {
  const std::filesystem::path file = path;
  if (!file.has_extension() || file.extension() == ".svg") return;
  const std::string svg = std::filesystem::path(file).replace_extension(".svg").string();
  throw Error(
      Kind::usage, "--picture " + path,
      {"it ends in " + file.extension().string(), "a name that ends in .svg, which browsers show",
       "write " + shell_word(svg) + ", and convert that: rsvg-convert -o " + shell_word(path) + " " + shell_word(svg)});
}

/// Throws usage for options that contradict one another.
void check(const CommandLine& line, const InspectOptions& options) {
  if (options.path.empty() && !options.picture.empty())
    throw Error(Kind::usage, "--picture",
                {"given without PATH", "the checkpoint whose parameters are to be seen",
                 "a layout alone says neither their names nor their shapes"});
  if (options.path.empty() && options.as_layout.empty())
    throw Error(Kind::usage, "PATH", {"missing", "a checkpoint's path", line.see_help()});
  if (options.json && options.picture == "-")
    throw Error(Kind::usage, "", {"--json and --picture -", "one of them at most on standard output", ""});
  if (!options.key.empty() && (options.path.empty() || options.draft || !options.picture.empty()))
    throw Error(Kind::usage, "--key", {"given without PATH, or with --draft or --picture", "PATH's tables", ""});
  if (options.draft && (!options.layout.empty() || !options.only.empty() || !options.drop.empty() || options.json))
    throw Error(
        Kind::usage, "--draft",
        {"given with --layout, --only, --drop or --json", "--mesh, --expect and --picture beside it at most", ""});
  if (options.draft && options.picture == "-")
    throw Error(Kind::usage, "", {"--draft and --picture -", "one of them at most on standard output", ""});
  check_picture(options.picture);
  const std::string& expected = options.expectation.reference;
  const std::string reference = expected.empty() ? "" : " --expect " + shell_word(expected);
  if (!options.tolerance.empty() && expected.empty())
    throw Error(Kind::usage, "--tolerance",
                {"given without --expect", "both, or neither", "name the tensors of another step with --expect"});
  if (options.draft) return;
  std::string refused;  // the first
  std::string drafting = "ckpt draft";
  const auto refuse = [&](const std::string& option, const std::string& value) {
    if (refused.empty()) refused = option;
    drafting += " " + option + " " + shell_word(value);
  };
  if (!options.mesh.empty()) refuse("--mesh", options.mesh);
  for (const std::string& glob : options.unfused) refuse("--unfused", glob);
  if (!options.tolerance.empty()) refuse("--tolerance", options.tolerance);
  if (!refused.empty())
    throw Error(Kind::usage, refused,
                {"given without --draft", "both, or neither",
                 "draft a layout with it: " + drafting + reference + " " + shell_word(options.path)});
}

}  // namespace

std::vector<OptionText> inspect_options(const Manual& manual) {
  InspectOptions unused;
  CommandLine line(manual);
  declare_inspect_options(line, manual.verb == "draft", unused);
  return line.options();
}

InspectOptions parse_inspect_options(const Manual& manual, const std::vector<std::string>& words) {
  InspectOptions options;
  CommandLine line(manual);
  const bool is_draft = manual.verb == "draft";
  declare_inspect_options(line, is_draft, options);
  if (const auto text = line.parse(words)) {
    options.asked_text = *text;
    return options;
  }
  options.draft = options.draft || is_draft;
  std::error_code none;
  if (options.path.empty() && std::filesystem::exists(options.names, none) && !options.names.ends_with(".json"))
    options.path = std::exchange(options.names, every_map);
  check(line, options);
  return options;
}

int run_inspect_program(const Manual& manual, const std::vector<std::string>& words) {
  InspectOptions options;
  std::chrono::seconds patience = Communicator::default_patience;
  const std::exception_ptr refusal = refusal_of([&] {
    options = parse_inspect_options(manual, words);
    patience = patience_from({}, read_environment());
  });
  if (!options.asked_text.empty()) return print_text(manual.name, options.asked_text);
  const auto on_each = [&](Communicator& processes) {
    agree(processes, [&] {
      if (refusal) std::rethrow_exception(refusal);
      start_messages(manual, options.messages, processes);
    });
    if (!options.as_layout.empty()) {
      const Layout layout = layout_of(options, processes);
      agree(processes, [&] {
        if (processes.rank() == 0) print(Lines::as_they_are(to_json(layout)));
      });
      return 0;
    }
    if (!options.draft) {
      run_inspection(options, std::nullopt, processes);
      return 0;
    }
    Drafted drafted = run_draft({.path = options.path,
                                 .mesh = options.mesh,
                                 .expectation = options.expectation,
                                 .tolerance = options.tolerance,
                                 .unfused = options.unfused,
                                 .allow_external = options.allow_external,
                                 .number_types = options.number_types},
                                processes);
    if (!options.picture.empty()) draw_draft(options, std::move(drafted.layout), processes);
    return drafted.is_complete ? 0 : 1;
  };
  return run_processes(manual, words, on_each, 1, patience);
}

}  // namespace ckpt::cli
