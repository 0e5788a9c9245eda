#include <algorithm>

#include "base/text.hpp"
#include "inspect/render.hpp"
#include "layout/names/name_groups.hpp"
#include "report/json_text.hpp"
#include "report/render.hpp"
#include "report/table.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

using Kind = Table::Column::Kind;

/// Names in words; names that differ only in numbers count as one.
std::string names_text(const std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (const auto& group : group_names(names))
    words.push_back(group.names.size() == 1 ? group.pattern
                                            : group.pattern + " (" + counted(group.names.size(), "file") + ")");
  return join(words, 4);
}

/// "0-31, 48": the cards as the files' names number them; else the names.
std::string files_text(const WhichFiles& which) {
  return which.cards ? which.cards->text() : names_text(which.names);
}

/// "[512, 4096] on 0-63"; for a single file just `what`.
std::string on(const std::string& what, const Survey& survey, const std::vector<std::size_t>& groups) {
  return survey.files.size() == 1 ? what : what + " on " + files_text(survey.which(groups));
}

std::string shapes_of(const LogicalParameter& parameter, std::uint64_t cards) {
  std::vector<std::string> forms;
  for (const auto& form : parameter.stored)
    forms.push_back(to_string(form.shape) + (cards == 1 ? "" : " on " + form.cards.text()));
  return join(forms, 4);
}

Lines stored_table(const Survey& survey, std::optional<std::size_t> width) {
  Table table({{"parameter", Kind::flexible}, {"dtype"}, {"stored", Kind::flexible}, {"bytes", Kind::number}});
  for (const auto& parameter : survey.parameters)
    table.add({parameter.name, dtypes_of(parameter), stored_text(parameter, survey), with_commas(parameter.bytes)});
  return table.lines(width);
}

Lines logical_table(const Inspection& inspection, std::optional<std::size_t> width) {
  std::vector<Table::Column> columns{
      {"parameter", Kind::flexible}, {"dtype"}, {"shape"}, {"stored", Kind::flexible}, {"copies", Kind::number}};
  if (inspection.has_given_layout) columns.push_back({"rule", Kind::flexible});
  columns.push_back({"bytes", Kind::number});
  Table table(columns);
  for (const auto& parameter : inspection.logical) {
    std::vector<std::string> cells{parameter.name, parameter.dtype, to_string(parameter.shape),
                                   shapes_of(parameter, inspection.placement->mesh().size()),
                                   with_commas(parameter.copies)};
    if (inspection.has_given_layout) cells.push_back(rule_of(*inspection.placement, parameter.id));
    cells.push_back(with_commas(parameter.bytes));
    table.add(std::move(cells));
  }
  return table.lines(width);
}

/// Adds attributes; a value that not all holders have says which ones do.
void add_attributes(Table& table, const std::string& owner, const std::vector<AttributeForm>& forms,
                    const Survey& survey, std::size_t holders) {
  for (const auto& form : forms) {
    const std::string value = json_text(form.value, -1);
    table.add({owner, form.name, survey.count(form.groups) == holders ? value : on(value, survey, form.groups)});
  }
}

Lines attribute_table(const Survey& survey, std::optional<std::size_t> width) {
  Table table({{"attributes of", Kind::flexible}, {"name"}, {"value", Kind::flexible}});
  add_attributes(table, "(root)", survey.attributes, survey, survey.files.size());
  bool is_empty = survey.attributes.empty();
  for (const auto& parameter : survey.parameters) {
    std::size_t holders = 0;
    for (const auto& form : parameter.forms) holders += survey.count(form.groups);
    add_attributes(table, parameter.name, parameter.attributes, survey, holders);
    is_empty = is_empty && parameter.attributes.empty();
  }
  return is_empty ? Lines() : Lines().add("").add(table.lines(width));
}

/// Says only what each value is, since values may be large.
Lines leaf_table(const Survey& survey, std::optional<std::size_t> width) {
  if (survey.leaves.empty()) return {};
  Table table({{"value", Kind::flexible}, {"what it is", Kind::flexible}});
  for (const auto& leaf : survey.leaves) {
    const std::string what = leaf.value.get<std::string>();
    table.add({leaf.name, survey.count(leaf.groups) == survey.files.size() ? what : on(what, survey, leaf.groups)});
  }
  return Lines().add("").add(table.lines(width));
}

Lines boxes_of_cards(const Placement& placement, const LogicalParameter& parameter) {
  Lines lines;
  lines.add("").add(parameter.name + " " + parameter.dtype + " " + to_string(parameter.shape));
  for (const auto& entry : boxes_of(placement, parameter.id)) {
    const CardIds ids(card_ids(placement.mesh(), entry.positions));
    std::vector<std::string> boxes;
    for (const auto& box : entry.boxes) boxes.push_back(to_string(box));
    lines.add((ids.count() == 1 ? "  card " : "  cards ") + ids.text(16) + ": " +
              (boxes.empty() ? "nothing" : join(boxes, boxes.size())));
  }
  return lines;
}

std::string heading(const Inspection& inspection) {
  const Survey& survey = inspection.survey;
  // The size of a file that stands for its directory tells nothing of the data.
  const bool has_sizes = std::ranges::none_of(formats(), [&](const Format& format) {
    return format.is_directory && std::ranges::find(survey.formats, format.name) != survey.formats.end();
  });
  const std::string files =
      counted(survey.file_count, "file") + (has_sizes ? " of " + format_bytes(survey.file_bytes) : "");
  if (!inspection.placement)
    return inspection.path + ": " + files + ", " + counted(survey.parameters.size(), "parameter");
  std::uint64_t bytes = 0;
  for (const auto& parameter : inspection.logical) bytes += parameter.bytes;
  return inspection.path + ": " + files + ", " + counted(inspection.placement->mesh().size(), "card") + ", " +
         counted(inspection.logical.size(), "parameter") + " of " + format_bytes(bytes) + " (" +
         inspection.placement->layout().origin + ")";
}

/// A line about data that is not in the files; empty if all is.
Lines shown_line(const Survey& survey) {
  if (survey.shown.empty()) return {};
  const auto count = std::count_if(survey.parameters.begin(), survey.parameters.end(),
                                   [](const StoredParameter& parameter) { return parameter.is_shown; });
  if (count == 0) return {};  // none that can be read
  return Lines().add("virtual datasets: " + counted(static_cast<std::size_t>(count), "parameter") +
                     (count == 1 ? " shows" : " show") + " data of " + names_text(survey.shown));
}

}  // namespace

std::string stored_text(const StoredParameter& parameter, const Survey& survey) {
  const bool same_dtype = dtypes_of(parameter) == parameter.forms[0].dtype;
  std::vector<std::string> forms;
  for (const auto& form : parameter.forms)
    forms.push_back(on((same_dtype ? "" : form.dtype + " ") + to_string(form.shape), survey, form.groups));
  return join(forms, 4);
}

Lines inspection_text(const Inspection& inspection, std::optional<std::size_t> width) {
  Lines lines = keys_text(inspection.tables);
  if (!lines.text().empty() && !inspection.with_boxes) return lines;
  if (!lines.text().empty()) lines.add("");
  lines.add(heading(inspection)).add(shown_line(inspection.survey)).add("");
  const bool is_short = width && !inspection.with_all && is_summed_up(inspection);
  if (is_summed_up(inspection)) lines.add(overview_text(inspection, is_short, width));
  if (is_short) return lines.add(tables_text(inspection.tables, width));
  lines.add(inspection.placement ? logical_table(inspection, width) : stored_table(inspection.survey, width));
  lines.add(tables_text(inspection.tables, width));
  lines.add(attribute_table(inspection.survey, width));
  lines.add(leaf_table(inspection.survey, width));
  if (inspection.placement && inspection.with_boxes) {
    for (const auto& parameter : inspection.logical) lines.add(boxes_of_cards(*inspection.placement, parameter));
  }
  return lines;
}

}  // namespace ckpt::cli
