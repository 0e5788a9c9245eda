#include <map>
#include <utility>

#include "inspect/render.hpp"
#include "report/json_text.hpp"

namespace ckpt::cli {

namespace {

Json numbers(const Extents& extents) {
  Json list = Json::array();
  for (const auto extent : extents) list.push_back(extent);
  return list;
}

Json attributes_json(const std::vector<AttributeForm>& forms) {
  Json list = Json::array();
  for (const auto& form : forms) list.push_back({{"name", form.name}, {"value", form.value}, {"cards", form.cards}});
  return list;
}

Json stored_json(const StoredParameter& parameter) {
  Json forms = Json::array();
  for (const auto& form : parameter.forms)
    forms.push_back({{"dtype", form.dtype},
                     {"shape", numbers(form.shape)},
                     {"cards", form.cards},
                     {"first_file", form.first_file}});
  return {{"name", parameter.name},
          {"bytes", parameter.bytes},
          {"stored", forms},
          {"attributes", attributes_json(parameter.attributes)}};
}

Json boxes_json(const Placement& placement, ParameterId parameter) {
  Json list = Json::array();
  for (const auto& entry : boxes_of(placement, parameter)) {
    Json boxes = Json::array();
    for (const auto& box : entry.boxes) boxes.push_back({{"lo", numbers(box.lo)}, {"hi", numbers(box.hi)}});
    list.push_back({{"cards", entry.cards}, {"boxes", boxes}});
  }
  return list;
}

Json logical_json(const LogicalParameter& parameter) {
  Json stored = Json::array();
  for (const auto& count : parameter.stored)
    stored.push_back({{"shape", numbers(count.shape)}, {"cards", count.cards}});
  return {{"name", parameter.name},
          {"dtype", parameter.dtype},
          {"shape", numbers(parameter.shape)},
          {"bytes", parameter.bytes},
          {"copies", parameter.copies},
          {"rule", parameter.rule},
          {"stored_name", parameter.stored_name},
          {"stored", stored}};
}

/// Attributes by the stored name of their dataset.
std::map<std::string, Json> attributes_by_name(const Survey& survey) {
  std::map<std::string, Json> attributes;
  for (const auto& parameter : survey.parameters)
    attributes.emplace(parameter.name, attributes_json(parameter.attributes));
  return attributes;
}

Json parameters_json(const Inspection& inspection) {
  Json list = Json::array();
  if (!inspection.placement) {
    for (const auto& parameter : inspection.survey.parameters) list.push_back(stored_json(parameter));
    return list;
  }
  const auto attributes = attributes_by_name(inspection.survey);
  for (const auto& parameter : inspection.logical) {
    Json entry = logical_json(parameter);
    const auto found = attributes.find(parameter.stored_name);
    entry["attributes"] = found == attributes.end() ? Json::array() : found->second;
    if (inspection.with_boxes) entry["boxes"] = boxes_json(*inspection.placement, parameter.id);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string inspection_json(const Inspection& inspection) {
  Json json{
      {"path", inspection.path}, {"files", inspection.survey.files}, {"file_bytes", inspection.survey.file_bytes}};
  if (inspection.placement) {
    json["cards"] = inspection.placement->mesh().size();
    json["layout"] = inspection.placement->layout().origin;
  }
  json["attributes"] = attributes_json(inspection.survey.attributes);
  json["parameters"] = parameters_json(inspection);
  return json_text(std::move(json)) + "\n";
}

}  // namespace ckpt::cli
