#include "inspect/inspect_program.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/found_files.hpp"
#include "cli/advice.hpp"
#include "cli/external.hpp"
#include "cli/job_options.hpp"
#include "cli/layout_text.hpp"
#include "cli/number_types.hpp"
#include "cli/processes.hpp"
#include "diagnosis/fitting_change.hpp"
#include "inspect/draft_program.hpp"
#include "inspect/names_view.hpp"
#include "inspect/picture.hpp"
#include "inspect/render.hpp"
#include "jobs/name_maps.hpp"
#include "layout/names/better_pattern.hpp"
#include "report/output.hpp"
#include "report/render.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

/// As `resolve`, but leaves out the arrays that cannot be read (StoredArray::refusal), which have no shape: for showing
/// what is there, not for moving it.
Resolved resolve_readable(const Checkpoint& checkpoint, const ExpectedShape& expected) {
  std::set<std::string> unreadable = unreadable_names(checkpoint.layout(), checkpoint.card_arrays());
  std::set<std::string> contradicted;
  std::set<std::string> reasons;
  for (const auto& [name, why] : checkpoint.contradictions()) {
    contradicted.insert(name);
    reasons.insert(why.what());
  }
  unreadable.insert(contradicted.begin(), contradicted.end());
  if (unreadable.empty()) return resolve(checkpoint, {}, expected);
  Resolved resolved = resolve(
      checkpoint, [&](const std::string& name) { return !unreadable.contains(name); }, expected);
  if (!contradicted.empty())
    resolved.warnings.push_back("not shown: " + join({contradicted.begin(), contradicted.end()}, 4) + "; " +
                                join({reasons.begin(), reasons.end()}, 3));
  return resolved;
}

Placement placement_of(const Checkpoint& checkpoint, const ExpectedTensors& expected, SourceStore& store) {
  const auto alone = single_process();
  ConflictSource conflict{checkpoint, store};
  conflict.expected_shape = [&](const std::string& name) { return expected.shape(name); };
  Resolved resolved;
  explain_conflict(conflict, *alone,
                   [&] { agree(*alone, [&] { resolved = resolve_readable(checkpoint, conflict.expected_shape); }); });
  for (const auto& warning : resolved.warnings) log::warn(warning);
  return std::move(resolved.placement);
}

/// --only and --drop.
struct Choice {
  std::vector<Pattern> only;
  std::vector<Pattern> drop;

  bool is_everything() const { return only.empty() && drop.empty(); }
  bool has(const std::string& name) const {
    const auto matches = [&](const Pattern& pattern) { return pattern.matches(name); };
    return (only.empty() || std::any_of(only.begin(), only.end(), matches)) &&
           std::none_of(drop.begin(), drop.end(), matches);
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
  if (choice.only.empty()) throw Error(Kind::input, "--drop", {"leaves no parameter", "", ""});
  const std::string text = choice.only[0].text();
  if (!choice.drop.empty())
    throw Error(Kind::input, "--only '" + text + "'", {"leaves no parameter beside --drop", "", ""});
  throw Error(Kind::input, "--only '" + text + "'",
              {"matches no parameter", "", better_pattern(choice.only[0], names)});
}

void keep_requested(Inspection& inspection, const Choice& choice) {
  inspection.with_boxes = !choice.only.empty();
  if (choice.is_everything()) return;
  inspection.survey.attributes.clear();
  inspection.survey.leaves.clear();
  if (!inspection.placement) return keep_chosen(inspection.survey.parameters, choice);
  keep_chosen(inspection.logical, choice);
  std::erase_if(inspection.survey.parameters, [&](const StoredParameter& stored) {
    return std::none_of(inspection.logical.begin(), inspection.logical.end(),
                        [&](const LogicalParameter& logical) { return logical.stored_name == stored.name; });
  });
}

Inspection inspect(const InspectOptions& options, const FoundCheckpoint& found, const ExpectedTensors& expected,
                   const Choice& choice, SourceStore& store) {
  Inspection inspection{.path = options.path, .survey = survey(found)};
  if (found.checkpoint) {
    inspection.placement = placement_of(*found.checkpoint, expected, store);
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
  return picture_svg({inspection.path,
                      {placement.layout().origin + ": " + axes + ", " + counted(mesh.size(), "card") + "; " +
                           counted(parameters.size(), "parameter"),
                       "Cards that hold the same have one colour, with hatching from the ninth on; grey is what all "
                       "hold that hold any. Sides are not to scale where pieces need room for their labels."}},
                     panels_of(placement, parameters, !inspection.with_boxes));
}

/// The map of names that is to be shown; null if none is. What the output would be padded to is not known.
std::shared_ptr<const NameMapping> mapping_of(const InspectOptions& options, const std::optional<Layout>& layout,
                                              Communicator& processes) {
  MapWish wish;
  wish.is_padded = [](const std::string&, std::size_t) { return true; };
  MapPlaces places{layout ? &*layout : nullptr, nullptr, false, {options.path}};
  if (!options.expectation.reference.empty()) places.models.emplace_back(options.expectation.reference);
  return load_mapping(parse_map(options.names, options.sizes), places, std::move(wish), processes);
}

void run_inspection(const InspectOptions& options, Communicator& processes) {
  Choice choice;
  std::optional<Expectation> expectation;
  std::unique_ptr<ResultFile> picture;
  agree(processes, [&] {
    expectation = parse_expectation(options.expectation);
    if (!options.picture.empty() && processes.rank() == 0)
      picture = std::make_unique<ResultFile>(picture_kind(), options.picture, "");
    choice = {parse_globs("--only", options.only), parse_globs("--drop", options.drop)};
  });
  std::optional<Layout> layout;
  if (!options.layout.empty()) layout = read_layout(options.layout, options.path, processes);
  Stores stores;
  allow_external(options.allow_external, stores);
  read_number_types(options.number_types, stores.numbers());
  const ExpectedTensors expected(expectation, stores.reading(), processes);
  const FoundCheckpoint found = find_checkpoint({options.path, layout}, stores.reading(), processes);
  warn_of_unused_types(options.number_types, stores.numbers(), processes);
  const auto mapping = mapping_of(options, layout, processes);
  for (const auto& reason : {found.damaged_manifest, found.unplaced})
    if (reason) log::warn("{}", message(*reason));
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    const Inspection inspection = inspect(options, found, expected, choice, stores.reading());
    if (mapping) {
      std::optional<Placement> alone;
      return print(names_text(expected_in(found.files, inspection, alone), *mapping, output_width()));
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
  line.value("--key", options.key, "KEY",
             "where this key of tables is, and nothing else: its server, its row there and what it holds, or where it "
             "would be");
  line.value("--picture", options.picture, "OUT.svg",
             "with a layout, instead of tables, an SVG picture of which card holds what of each parameter (-: standard "
             "output); alike parameters and the members of a bucket as one, unless --only chooses them");
  line.flag("--draft", options.draft,
            "a layout of PATH on standard output, as far as names, shapes and bytes prove it; what they leave open is "
            "listed on standard error (exit status 1)");
  declare_mesh(line, "with --draft: ", options.mesh);
  declare_evidence(line, "with --draft: ", options);
  line.value(
      "--as-layout", options.as_layout, "WHAT",
      "instead of tables, a layout as JSON: that of a strategy file of MindSpore, or of a directory with one for "
      "each pipeline stage; or the one that a checkpoint carries, or says of itself. PATH may then be left out");
  line.value(
      "--names", options.names, "MAP[#SIDE]",
      "instead of tables of PATH, what a map of names makes of it: a line for each tensor of the other side, with "
      "the tensors that it is made of; a file, or a map that comes with the programs, such as llama");
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
  if (options.draft && (!options.layout.empty() || !options.only.empty() || !options.drop.empty() || options.json ||
                        !options.picture.empty()))
    throw Error(
        Kind::usage, "--draft",
        {"given with --layout, --only, --drop, --json or --picture", "--mesh and --expect beside it at most", ""});
  if (!options.draft && !options.mesh.empty())
    throw Error(Kind::usage, "--mesh", {"given without --draft", "what a layout is drafted on", ""});
  if (!options.draft && !options.unfused.empty())
    throw Error(Kind::usage, "--unfused", {"given without --draft", "what a layout is drafted of", ""});
  if (!options.tolerance.empty() && (!options.draft || options.expectation.reference.empty()))
    throw Error(Kind::usage, "--tolerance",
                {"given without --draft and --expect", "a draft, and the tensors of another step", ""});
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
  check(line, options);
  return options;
}

int run_inspect_program(const Manual& manual, const std::vector<std::string>& words) {
  InspectOptions options;
  const std::exception_ptr refusal = refusal_of([&] { options = parse_inspect_options(manual, words); });
  if (!options.asked_text.empty()) return print_text(manual.name, options.asked_text);
  return run_processes(manual.name, words, [&](Communicator& processes) {
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
    if (options.draft)
      return run_draft({.path = options.path,
                        .mesh = options.mesh,
                        .expectation = options.expectation,
                        .tolerance = options.tolerance,
                        .unfused = options.unfused,
                        .allow_external = options.allow_external,
                        .number_types = options.number_types},
                       processes);
    run_inspection(options, processes);
    return 0;
  });
}

}  // namespace ckpt::cli
