#include <map>
#include <utility>

#include "inspect/render.hpp"
#include "report/json_text.hpp"

namespace ckpt::cli {

namespace {

Json numbers(const Shape& shape) {
  Json list = Json::array();
  for (const auto extent : shape) list.push_back(extent);
  return list;
}

/// Ids as runs, so that a mesh of thousands of cards does not fill the text.
Json ids_json(const CardIds& ids) {
  Json list = Json::array();
  for (const auto& run : ids.runs()) list.push_back({{"first", run.first}, {"last", run.last}, {"step", run.step}});
  return list;
}

/// Adds how many files there are, and which: by the cards' ids if the names contain them, else by names.
void add_files(Json& json, const Survey& survey, const std::vector<std::size_t>& groups) {
  const WhichFiles which = survey.which(groups);
  json["cards"] = which.names.size();
  json["card_ids"] = which.cards ? ids_json(*which.cards) : Json::array();
  json["files"] = which.cards ? Json::array() : Json(which.names);
}

Json attributes_json(const Survey& survey, const std::vector<AttributeForm>& forms) {
  Json list = Json::array();
  for (const auto& form : forms) {
    list.push_back({{"name", form.name}, {"value", form.value}});
    add_files(list.back(), survey, form.groups);
  }
  return list;
}

Json leaves_json(const Survey& survey) {
  Json list = Json::array();
  for (const auto& leaf : survey.leaves) {
    list.push_back({{"name", leaf.name}, {"what", leaf.value}});
    add_files(list.back(), survey, leaf.groups);
  }
  return list;
}

Json stored_json(const Survey& survey, const StoredParameter& parameter) {
  Json forms = Json::array();
  for (const auto& form : parameter.forms) {
    forms.push_back({{"dtype", form.dtype}, {"shape", numbers(form.shape)}});
    add_files(forms.back(), survey, form.groups);
  }
  // The keys are those of logical_json: what only a layout says is null.
  return {{"name", parameter.name},
          {"dtype", parameter.forms.size() == 1 ? Json(parameter.forms.front().dtype) : Json()},
          {"shape", nullptr},
          {"bytes", parameter.bytes},
          {"copies", nullptr},
          {"rule", nullptr},
          {"stored_name", parameter.name},
          {"stored", forms},
          {"boxes", nullptr},
          {"attributes", attributes_json(survey, parameter.attributes)}};
}

/// The parameters whose data is not in the files.
Json shown_json(const Survey& survey) {
  Json parameters = Json::array();
  for (const auto& parameter : survey.parameters)
    if (parameter.is_shown) parameters.push_back(parameter.name);
  return {{"parameters", parameters}, {"files", survey.shown}};
}

Json boxes_json(const Placement& placement, ParameterId parameter) {
  Json list = Json::array();
  for (const auto& entry : boxes_of(placement, parameter)) {
    Json boxes = Json::array();
    for (const auto& box : entry.boxes) boxes.push_back({{"lo", numbers(box.lo)}, {"hi", numbers(box.hi)}});
    list.push_back({{"cards", card_ids(placement.mesh(), entry.positions)}, {"boxes", boxes}});
  }
  return list;
}

Json logical_json(const LogicalParameter& parameter) {
  Json stored = Json::array();
  for (const auto& form : parameter.stored)
    stored.push_back({{"dtype", parameter.dtype},
                      {"shape", numbers(form.shape)},
                      {"cards", form.cards.count()},
                      {"card_ids", ids_json(form.cards)},
                      {"files", Json::array()}});
  return {{"name", parameter.name},
          {"dtype", parameter.dtype},
          {"shape", numbers(parameter.shape)},
          {"bytes", parameter.bytes},
          {"copies", parameter.copies},
          {"rule", parameter.rule},
          {"stored_name", parameter.stored_name},
          {"stored", stored},
          {"boxes", nullptr}};
}

/// Attributes by the stored name of their dataset.
std::map<std::string, Json> attributes_by_name(const Survey& survey) {
  std::map<std::string, Json> attributes;
  for (const auto& parameter : survey.parameters)
    attributes.emplace(parameter.name, attributes_json(survey, parameter.attributes));
  return attributes;
}

/// The text between an object's braces.
std::string members_text(Json object) {
  const std::string text = json_text(std::move(object));
  return text.substr(1, text.size() - 3);
}

/// Builds a list in an object's text item by item: as one JSON value it would be many times as large as its text.
class ListText {
 public:
  void add(Json item) {
    text_ += text_.empty() ? "\n    " : ",\n    ";
    for (const char c : json_text(std::move(item))) {
      text_ += c;
      if (c == '\n') text_ += "    ";
    }
  }
  std::string text() const { return text_.empty() ? "[]" : "[" + text_ + "\n  ]"; }

 private:
  std::string text_;
};

std::string parameters_text(const Inspection& inspection) {
  ListText list;
  if (!inspection.placement) {
    for (const auto& parameter : inspection.survey.parameters) list.add(stored_json(inspection.survey, parameter));
    return list.text();
  }
  const auto attributes = attributes_by_name(inspection.survey);
  for (const auto& parameter : inspection.logical) {
    Json entry = logical_json(parameter);
    const auto found = attributes.find(parameter.stored_name);
    entry["attributes"] = found == attributes.end() ? Json::array() : found->second;
    if (inspection.with_boxes) entry["boxes"] = boxes_json(*inspection.placement, parameter.id);
    list.add(std::move(entry));
  }
  return list.text();
}

}  // namespace

std::string inspection_json(const Inspection& inspection) {
  Json json{{"path", inspection.path},
            {"files", inspection.survey.file_count},
            {"file_bytes", inspection.survey.file_bytes},
            {"cards", nullptr},
            {"layout", nullptr}};
  if (inspection.placement) {
    json["cards"] = inspection.placement->mesh().size();
    json["layout"] = inspection.placement->layout().origin;
  }
  json["virtual"] = shown_json(inspection.survey);
  json["attributes"] = attributes_json(inspection.survey, inspection.survey.attributes);
  json["values"] = leaves_json(inspection.survey);
  std::string text = "{" + members_text(std::move(json)) + ",\n  \"parameters\": " + parameters_text(inspection);
  return text + "," + members_text({{"tables", tables_json(inspection.tables)}}) + "\n}\n";
}

}  // namespace ckpt::cli
