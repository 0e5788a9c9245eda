#include <algorithm>

#include "base/text.hpp"
#include "inspect/render.hpp"
#include "report/json_text.hpp"
#include "report/render.hpp"
#include "report/table.hpp"

namespace ckpt::cli {

namespace {

using Kind = Table::Column::Kind;

/// "[512, 4096] on 64 cards"; a single file goes without saying.
std::string on_cards(const std::string& what, std::uint64_t cards, std::uint64_t files) {
  return files == 1 ? what : what + " on " + counted(cards, "card");
}

std::string dtypes_of(const StoredParameter& parameter) {
  std::vector<std::string> names;
  for (const auto& form : parameter.forms) {
    if (std::find(names.begin(), names.end(), form.dtype) == names.end()) names.push_back(form.dtype);
  }
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : "|") + name;
  return text;
}

std::string shapes_of(const StoredParameter& parameter, std::uint64_t files) {
  const bool same_dtype = dtypes_of(parameter) == parameter.forms[0].dtype;
  std::vector<std::string> forms;
  for (const auto& form : parameter.forms)
    forms.push_back(on_cards((same_dtype ? "" : form.dtype + " ") + to_string(form.shape), form.cards, files));
  return join(forms, 4);
}

std::string shapes_of(const LogicalParameter& parameter, std::uint64_t files) {
  std::vector<std::string> forms;
  for (const auto& count : parameter.stored) forms.push_back(on_cards(to_string(count.shape), count.cards, files));
  return join(forms, 4);
}

Lines stored_table(const Survey& survey, std::optional<std::size_t> width) {
  Table table({{"parameter", Kind::flexible}, {"dtype"}, {"stored", Kind::flexible}, {"bytes", Kind::number}});
  for (const auto& parameter : survey.parameters)
    table.add({parameter.name, dtypes_of(parameter), shapes_of(parameter, survey.files), with_commas(parameter.bytes)});
  return table.lines(width);
}

Lines logical_table(const Inspection& inspection, std::optional<std::size_t> width) {
  Table table({{"parameter", Kind::flexible},
               {"dtype"},
               {"shape"},
               {"stored", Kind::flexible},
               {"copies", Kind::number},
               {"rule", Kind::flexible},
               {"bytes", Kind::number}});
  for (const auto& parameter : inspection.logical)
    table.add({parameter.name, parameter.dtype, to_string(parameter.shape),
               shapes_of(parameter, inspection.survey.files), with_commas(parameter.copies), parameter.rule,
               with_commas(parameter.bytes)});
  return table.lines(width);
}

/// A value that not all holders have tells on how many it is.
void add_attributes(Table& table, const std::string& owner, const std::vector<AttributeForm>& forms,
                    std::uint64_t holders) {
  for (const auto& form : forms) {
    const std::string value = json_text(form.value, -1);
    table.add({owner, form.name, form.cards == holders ? value : value + " on " + counted(form.cards, "card")});
  }
}

Lines attribute_table(const Survey& survey, std::optional<std::size_t> width) {
  Table table({{"attributes of", Kind::flexible}, {"name"}, {"value", Kind::flexible}});
  add_attributes(table, "(root)", survey.attributes, survey.files);
  bool is_empty = survey.attributes.empty();
  for (const auto& parameter : survey.parameters) {
    std::uint64_t holders = 0;
    for (const auto& form : parameter.forms) holders += form.cards;
    add_attributes(table, parameter.name, parameter.attributes, holders);
    is_empty = is_empty && parameter.attributes.empty();
  }
  return is_empty ? Lines() : Lines().add("").add(table.lines(width));
}

Lines boxes_of_cards(const Placement& placement, const LogicalParameter& parameter) {
  Lines lines;
  lines.add("").add(parameter.name + " " + parameter.dtype + " " + to_string(parameter.shape));
  for (const auto& entry : boxes_of(placement, parameter.id)) {
    std::vector<std::string> cards;
    for (const auto card : entry.cards) cards.push_back(std::to_string(card));
    std::vector<std::string> boxes;
    for (const auto& box : entry.boxes) boxes.push_back(to_string(box));
    lines.add((cards.size() == 1 ? "  card " : "  cards ") + join(cards, 16) + ": " +
              (boxes.empty() ? "nothing" : join(boxes, boxes.size())));
  }
  return lines;
}

std::string heading(const Inspection& inspection) {
  const Survey& survey = inspection.survey;
  const std::string files = counted(survey.files, "file") + " of " + format_bytes(survey.file_bytes);
  if (!inspection.placement)
    return inspection.path + ": " + files + ", " + counted(survey.parameters.size(), "parameter");
  std::uint64_t bytes = 0;
  for (const auto& parameter : inspection.logical) bytes += parameter.bytes;
  return inspection.path + ": " + files + ", " + counted(inspection.placement->mesh().size(), "card") + ", " +
         counted(inspection.logical.size(), "parameter") + " of " + format_bytes(bytes) + " (" +
         inspection.placement->layout().origin + ")";
}

}  // namespace

Lines inspection_text(const Inspection& inspection, std::optional<std::size_t> width) {
  Lines lines;
  lines.add(heading(inspection)).add("");
  lines.add(inspection.placement ? logical_table(inspection, width) : stored_table(inspection.survey, width));
  lines.add(attribute_table(inspection.survey, width));
  if (inspection.placement && inspection.with_boxes) {
    for (const auto& parameter : inspection.logical) lines.add(boxes_of_cards(*inspection.placement, parameter));
  }
  return lines;
}

}  // namespace ckpt::cli
