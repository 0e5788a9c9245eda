#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "checkpoint/directory_hints.hpp"
#include "inspect/overview.hpp"
#include "inspect/render.hpp"
#include "layout/names/characters.hpp"
#include "layout/names/name_groups.hpp"
#include "report/json_text.hpp"
#include "report/render.hpp"
#include "report/table.hpp"

namespace ckpt::cli {

namespace {

using Kind = Table::Column::Kind;

constexpr std::size_t most_rows = 24;  ///< of one table: with what stands above it, about a screen
constexpr std::size_t most_rows_with_state = 12;
constexpr std::size_t most_prefixes = 10;

/// "8 × [512, 4096]": how many cards or files have which shape.
std::string counted_shapes(const std::vector<std::pair<std::string, std::uint64_t>>& shapes) {
  std::vector<std::string> texts;
  for (const auto& [shape, count] : shapes) texts.push_back(fmt::format("{} × {}", with_commas(count), shape));
  return join(texts, 2);
}

OverviewEntry entry_of(const StoredParameter& parameter, const Survey& survey) {
  std::vector<std::pair<std::string, std::uint64_t>> shapes;
  for (const auto& form : parameter.forms) shapes.emplace_back(to_string(form.shape), survey.count(form.groups));
  return {.name = parameter.name,
          .dtype = dtypes_of(parameter),
          .shape = "",
          .stored = survey.files.size() == 1 ? shapes.front().first : counted_shapes(shapes),
          .rule = "",
          .bytes = parameter.bytes};
}

OverviewEntry entry_of(const LogicalParameter& parameter, const Inspection& inspection) {
  std::vector<std::pair<std::string, std::uint64_t>> shapes;
  for (const auto& form : parameter.stored) shapes.emplace_back(to_string(form.shape), form.cards.count());
  return {.name = parameter.name,
          .dtype = parameter.dtype,
          .shape = to_string(parameter.shape),
          .stored = inspection.placement->mesh().size() == 1 ? "" : counted_shapes(shapes),
          .rule = inspection.has_given_layout ? rule_of(*inspection.placement, parameter.id) : "",
          .bytes = parameter.bytes};
}

std::vector<OverviewEntry> entries_of(const Inspection& inspection) {
  std::vector<OverviewEntry> entries;
  for (const auto& parameter : inspection.logical) entries.push_back(entry_of(parameter, inspection));
  if (inspection.placement) return entries;
  for (const auto& parameter : inspection.survey.parameters) entries.push_back(entry_of(parameter, inspection.survey));
  return entries;
}

std::string size_text(const OverviewShare& share) {
  return counted(share.tensors, "tensor") + " of " + format_bytes(share.bytes);
}

/// A number, also as a text: safetensors' metadata are texts.
bool is_count(const Json& value) {
  if (!value.is_string()) return value.is_number();
  const auto text = value.get<std::string>();
  return !text.empty() && text.size() < 20 && std::all_of(text.begin(), text.end(), is_digit);
}

/// How far training was: by an attribute of the files, else by the directory's name; empty where neither tells.
std::string step_of(const Inspection& inspection) {
  constexpr std::array<std::string_view, 6> names{"step",      "global_step", "global_steps",
                                                  "iteration", "step_num",    "epoch"};
  for (const std::string_view name : names) {
    std::vector<std::string> values;
    for (const auto& form : inspection.survey.attributes)
      if (form.name == name && is_count(form.value))
        values.push_back(form.value.is_string() ? form.value.get<std::string>() : json_text(form.value, -1));
    if (!values.empty()) return join(values, 3) + (name == "epoch" ? " (epoch)" : "");
  }
  const std::filesystem::path path = std::filesystem::path(inspection.path).lexically_normal();
  const std::string name = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
  if (!is_of_step(name)) return "";
  return text_and_numbers(name).at(1) + (name.starts_with("epoch") ? " (epoch)" : "") + ", by the directory's name";
}

std::string mesh_text(const Mesh& mesh) {
  std::vector<std::string> axes;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis)
    axes.push_back(mesh.axes[axis] + "=" + std::to_string(mesh.shape[axis]));
  return join(axes, axes.size());
}

/// How the tensors lie on the cards, in words; empty where one file holds everything.
std::string cut_text(const Inspection& inspection) {
  if (inspection.placement)  // one axis says no more than the number of cards
    return inspection.placement->mesh().axes.size() < 2 ? "" : mesh_text(inspection.placement->mesh());
  if (inspection.survey.files.size() == 1) return "";
  const std::string unsaid = "the files do not say how they are cut";
  return inspection.may_be_drafted ? unsaid + "; have a layout drafted with ckpt draft " + shell_word(inspection.path)
                                   : unsaid;
}

std::string state_text(const Overview& overview) {
  if (overview.state.tensors == 0) return "none, as far as names tell";
  return size_text(overview.state) +
         (overview.state_words.empty() ? "" : ": " + join(overview.state_words, overview.state_words.size()));
}

Lines fact(const std::string& label, const std::string& value, std::optional<std::size_t> width) {
  constexpr std::size_t label_width = 17;
  constexpr std::size_t least_width = 20;
  Lines lines;
  if (value.empty()) return lines;
  std::string before = label;
  for (const std::string& line : wrapped(value, width ? std::max(*width, label_width + least_width) - label_width
                                                      : std::max<std::size_t>(length_of(value), 1))) {
    lines.add(fmt::format("{:<{}}{}", before, label_width, line));
    before.clear();
  }
  return lines;
}

Lines facts(const Inspection& inspection, const Overview& overview, std::optional<std::size_t> width) {
  std::vector<std::string> dtypes;
  for (const auto& share : overview.dtypes) dtypes.push_back(share.name + ": " + size_text(share));
  Lines lines;
  lines.add(
      fact("format",
           join(inspection.survey.formats) + (inspection.framework.empty() ? "" : " (" + inspection.framework + ")"),
           width));
  lines.add(fact("cards", cut_text(inspection), width));
  lines.add(fact("step", step_of(inspection), width));
  lines.add(fact("dtypes", join(dtypes), width));
  lines.add(fact("optimizer state", state_text(overview), width));
  return lines;
}

Lines prefix_table(const Overview& overview, std::optional<std::size_t> width) {
  Table table(
      {{"names", Kind::flexible}, {"tensors", Kind::number}, {"dtype", Kind::flexible}, {"size", Kind::number}});
  OverviewShare others;
  for (std::size_t i = 0; i < overview.prefixes.size(); ++i) {
    const OverviewShare& share = overview.prefixes[i];
    if (i + 1 >= most_prefixes && overview.prefixes.size() > most_prefixes) {
      others.tensors += share.tensors;
      others.bytes += share.bytes;
      continue;
    }
    table.add({share.name, with_commas(share.tensors), join(share.dtypes, 4), format_bytes(share.bytes)});
  }
  if (others.tensors != 0)
    table.add({fmt::format("… ({} more)", overview.prefixes.size() - most_prefixes + 1), with_commas(others.tensors),
               "", format_bytes(others.bytes)});
  return table.lines(width);
}

/// Which rows are shown, by their indices: if they do not fit, those with the most bytes, and none of an optimizer's
/// state, which follows the parameters'.
std::vector<std::size_t> shown_rows(const std::vector<OverviewRow>& rows) {
  std::vector<std::size_t> shown;
  const bool has_state = rows.size() <= most_rows_with_state || rows.front().is_state;  // which comes last
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (has_state || !rows[i].is_state) shown.push_back(i);
  std::stable_sort(shown.begin(), shown.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].each.bytes > rows[b].each.bytes; });
  shown.resize(std::min(shown.size(), most_rows));
  std::sort(shown.begin(), shown.end());
  return shown;
}

Lines row_table(const Inspection& inspection, const Overview& overview, const std::vector<std::size_t>& shown,
                std::optional<std::size_t> width) {
  const bool has_shapes = inspection.placement.has_value();
  const bool has_stored = std::any_of(overview.rows.begin(), overview.rows.end(),
                                      [](const OverviewRow& row) { return !row.each.stored.empty(); });
  std::vector<Table::Column> columns{{"parameter", Kind::flexible}, {"tensors", Kind::number}, {"dtype"}};
  if (has_shapes) columns.push_back({"shape", Kind::flexible});
  if (has_stored) columns.push_back({"stored", Kind::flexible});
  if (inspection.has_given_layout) columns.push_back({"rule", Kind::flexible});
  columns.push_back({"size", Kind::number});
  Table table(columns);
  for (const std::size_t i : shown) {
    const OverviewRow& row = overview.rows[i];
    std::vector<std::string> cells{row.each.name, with_commas(row.tensors), row.each.dtype};
    if (has_shapes) cells.push_back(row.each.shape);
    if (has_stored) cells.push_back(row.each.stored);
    if (inspection.has_given_layout) cells.push_back(row.each.rule);
    cells.push_back(format_bytes(row.each.bytes));
    table.add(std::move(cells));
  }
  return table.lines(width);
}

Lines rest_text(const Inspection& inspection, const Overview& overview, const std::vector<std::size_t>& shown,
                std::optional<std::size_t> width) {
  std::vector<std::string> rest;
  if (const std::size_t more = overview.rows.size() - shown.size(); more != 0)
    rest.push_back(counted(more, "more row"));
  std::size_t attributes = inspection.survey.attributes.size();
  for (const auto& parameter : inspection.survey.parameters) attributes += parameter.attributes.size();
  if (attributes != 0) rest.push_back(counted(attributes, "attribute"));
  if (const std::size_t leaves = inspection.survey.leaves.size(); leaves != 0)
    rest.push_back(counted(leaves, "value") + (leaves == 1 ? " that is no tensor" : " that are no tensors"));
  Lines lines;
  lines.add("");
  const std::string text = (rest.empty() ? "" : "Besides: " + join(rest) + ". ") +
                           "Each tensor, and all else, with --all; some tensors with --param 'GLOB'.";
  for (const std::string& line : wrapped(text, width.value_or(text.size()))) lines.add(line);
  return lines;
}

}  // namespace

bool is_summed_up(const Inspection& inspection) {
  const std::size_t parameters = inspection.placement ? inspection.logical.size() : inspection.survey.parameters.size();
  return !inspection.with_boxes && parameters > most_rows;
}

Lines overview_text(const Inspection& inspection, bool with_rows, std::optional<std::size_t> width) {
  const Overview overview = overview_of(entries_of(inspection));
  Lines lines;
  lines.add(facts(inspection, overview, width)).add("").add(prefix_table(overview, width)).add("");
  if (!with_rows) return lines;
  const std::vector<std::size_t> shown = shown_rows(overview.rows);
  return lines.add(row_table(inspection, overview, shown, width)).add(rest_text(inspection, overview, shown, width));
}

}  // namespace ckpt::cli
