#include "inspect/draft_program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/missing_layout.hpp"
#include "cli/advice.hpp"
#include "cli/external.hpp"
#include "cli/job_options.hpp"
#include "cli/number_types.hpp"
#include "diagnosis/draft/draft.hpp"
#include "frameworks/describe.hpp"
#include "layout/names/name_groups.hpp"
#include "report/output.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

constexpr std::size_t widest_line = 120;
constexpr std::size_t deepest_indent = 24;

/// Whether a line may be broken here: between the keys of a rule, or the items of a list in it.
bool may_cut(const std::string& open_brackets) {
  return open_brackets.size() < 2 || (open_brackets.size() == 2 && open_brackets.back() == '[');
}

/// Breaks a line of JSON after commas, and indents each part to the bracket in which it begins.
std::string folded(const std::string& line) {
  std::string text;
  std::size_t column = 0;
  std::vector<std::size_t> brackets;  // the columns behind them
  std::string open_brackets;          // the brackets themselves
  bool is_quoted = false;
  for (std::size_t from = 0; from < line.size();) {
    std::size_t to = from;
    std::vector<std::size_t> opened = brackets;
    std::string kinds = open_brackets;
    for (; to < line.size(); ++to) {
      if (is_quoted && line[to] == '\\') {
        ++to;
        continue;
      }
      if (line[to] == '"') is_quoted = !is_quoted;
      if (is_quoted) continue;
      if (line[to] == '[' || line[to] == '{') {
        opened.push_back(column + (to - from) + 1);
        kinds += line[to];
      }
      if ((line[to] == ']' || line[to] == '}') && !opened.empty()) {
        opened.pop_back();
        kinds.pop_back();
      }
      if (line[to] == ',' && may_cut(kinds)) break;
    }
    const std::size_t end = std::min(line.size(), to + 1 + (to + 1 < line.size() && line[to + 1] == ' ' ? 1 : 0));
    const std::size_t indent = brackets.empty() ? 0 : std::min(brackets.back(), deepest_indent);
    if (column + (end - from) > widest_line && column > indent && !brackets.empty()) {
      text.erase(text.find_last_not_of(' ') + 1);
      text.append("\n").append(indent, ' ');
      for (std::size_t b = brackets.size(); b < opened.size(); ++b) opened[b] = opened[b] - column + indent;
      column = indent;
    }
    text.append(line, from, end - from);
    column += end - from;
    brackets = std::move(opened);
    open_brackets = std::move(kinds);
    from = end;
  }
  return text;
}

std::string folded_lines(const std::string& json) {
  std::string text;
  for (std::size_t from = 0; from < json.size();) {
    const std::size_t end = std::min(json.find('\n', from), json.size());
    text += folded(json.substr(from, end - from)) + "\n";
    from = end + 1;
  }
  return text;
}

/// The entries of `indices` that a parameter may be missing, or nothing.
std::string missing_indices(const drafting::Open& open) {
  std::vector<std::string> entries;
  for (const std::string& candidate : open.candidates)
    if (candidate.starts_with("\"indices\"")) entries.push_back(candidate);
  return join(entries, entries.size());
}

bool may_be_bucket(const drafting::Open* open) {
  return std::any_of(open->candidates.begin(), open->candidates.end(),
                     [](const std::string& candidate) { return candidate.find("\"buckets\"") != std::string::npos; });
}

std::string open_line(const drafting::Open& why, std::vector<std::string> names) {
  std::sort(names.begin(), names.end(), natural_less);
  const std::vector<std::string> groups = describe_groups(group_names(names));
  std::string line = "open: " + join(groups, groups.size()) + ": " + why.found;
  if (!why.candidates.empty()) line += "; candidates: " + join(why.candidates, why.candidates.size());
  line += "; needed: " + why.needed;
  if (const std::string how = words(why.advice); !how.empty()) line += " (" + how + ")";
  return line;
}

/// One line for all names that are open for the same reason, and one for all that the same entry of `indices` may
/// count. Names that are usually fused come first.
std::vector<std::string> open_lines(const drafting::OpenNames& open) {
  std::map<drafting::Open, std::vector<std::string>> by_reason;
  for (const auto& [name, why] : open) by_reason[why].push_back(name);
  std::map<std::string, std::vector<const drafting::Open*>> by_cause;
  for (const auto& [why, names] : by_reason)
    if (const std::string cause = missing_indices(why); !cause.empty()) by_cause[cause].push_back(&why);
  // If all of them may be flat buffers, a missing count is not the cause.
  std::erase_if(by_cause, [](const auto& cause) {
    return cause.second.size() == 1 || std::all_of(cause.second.begin(), cause.second.end(), may_be_bucket);
  });
  std::vector<std::string> fused_lines;
  std::vector<std::string> lines;
  for (const auto& [why, names] : by_reason)
    if (!by_cause.contains(missing_indices(why)))
      (why.is_usually_fused ? fused_lines : lines).push_back(open_line(why, names));
  for (const auto& [cause, reasons] : by_cause) {
    drafting::Open common{"pieces of which nothing tells whether cards that hold others hold other parameters",
                          {cause, "else a rule for each"},
                          reasons.front()->needed,
                          reasons.front()->advice};
    std::vector<std::string> names;
    for (const drafting::Open* why : reasons)
      names.insert(names.end(), by_reason.at(*why).begin(), by_reason.at(*why).end());
    lines.push_back(open_line(common, std::move(names)));
  }
  for (auto* each : {&lines, &fused_lines}) std::sort(each->begin(), each->end(), natural_less);
  lines.insert(lines.begin(), fused_lines.begin(), fused_lines.end());
  return lines;
}

void print_draft(const drafting::Draft& draft) {
  print(Lines::as_they_are(folded_lines(to_json(draft.layout))));
  for (const std::string& note : draft.notes) log::warn("{}", note);
  for (const std::string& line : open_lines(draft.open)) log::warn("{}", line);
  const std::string read = format_bytes(draft.bytes_read) + " of data read, of files of " + format_bytes(draft.bytes);
  if (draft.open.empty())
    log::info("the layout is complete ({})", read);
  else
    log::warn("{} of the parameters have no rule yet: the programs will ask for one ({})", draft.open.size(), read);
}

}  // namespace

Mesh parse_axes(const std::string& text) {
  Mesh mesh;
  for (const auto& [axis, size] : axis_sizes("--mesh", text)) {
    if (axis == "card")
      throw Error(Kind::usage, "--mesh", {"an axis named card", "another name", "{card} is the card's id"});
    mesh.axes.push_back(axis);
    mesh.shape.push_back(size);
  }
  return mesh;
}

/// Values that are as far apart as unrelated ones prove nothing.
Tolerance parse_draft_tolerance(const std::string& text) {
  constexpr double most = 0.5;
  const Tolerance tolerance = parse_tolerance(text);
  if (tolerance.relative > most)
    throw Error(Kind::usage, "--tolerance", {"'" + text + "'", "at most 0.5", "unrelated values differ by 1 to 1.5"});
  return tolerance;
}

/// Whether the checkpoint describes its own sharding, so that it needs no layout. Plain files may say too little.
bool says_how_it_is_cut(const std::filesystem::path& path, SourceStore& store) {
  const auto found = SelfDescribed::find(path);
  if (!found || !found->has_plain_files()) return found.has_value();
  try {
    found->describe(store);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Drafted run_draft(const DraftOptions& options, Communicator& processes) {
  Stores stores;
  allow_external(options.allow_external, stores);
  read_number_types(options.number_types, stores.numbers());
  drafting::DraftJob job;
  std::optional<Expectation> expectation;
  agree(processes, [&] {
    if (!options.mesh.empty()) job.mesh = parse_axes(options.mesh);
    if (says_how_it_is_cut(options.path, stores.reading()))
      throw Error(Kind::usage, options.path,
                  {"it says itself how it is cut", "a checkpoint that does not",
                   "it needs no layout: give the directory alone; ckpt inspect --as-layout prints what it says"});
    expectation = parse_expectation(options.expectation);
    job.unfused = parse_globs("--unfused", options.unfused);
    if (!options.tolerance.empty()) job.tolerance = parse_draft_tolerance(options.tolerance);
    if (expectation) job.may_be_missing = expectation->allowances.missing;
  });
  job.files = find_files(options.path, stores.reading(), processes);
  warn_of_unused_types(options.number_types, stores.numbers(), processes);
  std::optional<Reference> reference;
  if (expectation) reference = Reference::load(expectation->reference, stores.reading(), processes);
  bool is_complete = false;
  std::string layout;
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    if (!job.files.is_single_file)
      if (auto why = unlike_one_checkpoint(job.files, stores.reading())) throw std::move(*why);
    job.reference = reference ? &*reference : nullptr;
    const drafting::Draft draft = drafting::make_draft(job, stores.reading());
    print_draft(draft);
    is_complete = draft.open.empty();
    layout = to_json(draft.layout);
  });
  layout = processes.broadcast(layout, 0);
  return {parse_layout(layout, "the draft"), processes.maximum(is_complete ? 1 : 0) == 1};
}

}  // namespace ckpt::cli
