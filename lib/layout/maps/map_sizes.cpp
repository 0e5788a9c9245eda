#include "layout/maps/map_sizes.hpp"

#include <algorithm>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_chained = 32;  // sizes that follow one from another

FormulaValue value_of(const nlohmann::json& json) {
  FormulaValue value;
  if (json.is_null()) return value;
  if (json.is_boolean()) return FormulaValue::of(json.get<bool>());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > ~std::uint64_t{0} >> 1) {
    value.kind = FormulaValue::Kind::other;
    value.is_true = true;
    return value;
  }
  if (json.is_number_integer()) return FormulaValue::of(json.get<std::int64_t>());
  value.kind = FormulaValue::Kind::other;
  value.is_true = true;
  if (json.is_number_float()) {
    const double number = json.get<double>();
    const auto whole = static_cast<std::int64_t>(std::clamp(number, -1e15, 1e15));
    if (double(whole) == number) return FormulaValue::of(whole);
  } else if (json.is_string()) {
    value.kind = FormulaValue::Kind::text;
    value.text = json.get<std::string>();
    value.is_true = !value.text.empty();
  } else if (json.is_array()) {
    value.kind = FormulaValue::Kind::list;
    for (const auto& item : json) value.list.push_back(value_of(item));
    value.is_true = !value.list.empty();
  }
  return value;
}

}  // namespace

ModelConfig::ModelConfig(const std::string& json_text, std::string origin) : origin_(std::move(origin)) {
  const auto json = parse_json(json_text, origin_, {Kind::input, "a model's config.json", ""});
  if (!json.is_object()) throw Error(Kind::input, origin_, {"no object", "a model's config.json", ""});
  for (const auto& [name, value] : json.items()) fields_[name] = value_of(value);
  const auto text = json.find("text_config");
  const bool has_text = text != json.end() && text->is_object();
  for (const auto* const object : {&json, has_text ? &*text : nullptr})
    if (const auto type = object == nullptr ? json.end() : object->find("model_type");
        object != nullptr && type != object->end() && type->is_string() &&
        (model_types_.empty() || model_types_.front() != type->get<std::string>()))
      model_types_.push_back(type->get<std::string>());
  if (!has_text) return;
  for (const auto& [name, value] : text->items())
    if (field(name).kind == FormulaValue::Kind::nothing) fields_[name] = value_of(value);
}

const FormulaValue& ModelConfig::field(const std::string& name) const {
  static const FormulaValue nothing;
  const auto found = fields_.find(name);
  return found == fields_.end() ? nothing : found->second;
}

MapSizes::MapSizes(const NameMap& map, ModelConfig config, std::map<std::string, std::uint64_t> given)
    : map_(map), config_(std::move(config)), given_(std::move(given)) {
  const std::set<std::string> names = MapSizes::names(map);
  for (const auto& [name, size] : given_)
    if (!names.contains(name))
      throw Error(Kind::usage, "--size " + name,
                  {map.origin + " has no size or field of that name",
                   "one of " + join(nearest(name, {names.begin(), names.end()})), ""});
}

std::set<std::string> MapSizes::names(const NameMap& map) {
  std::set<std::string> names;
  const auto add = [&](const Formula& formula) { names.insert(formula.names().begin(), formula.names().end()); };
  for (const auto& [name, formulas] : map.sizes) {
    names.insert(name);
    for (const Formula& formula : formulas) add(formula);
  }
  for (const MapRule& rule : map.rules) add(rule.when);
  for (const TiedName& tied : map.tied) add(tied.when);
  return names;
}

MapSizes MapSizes::with(const std::string& name, std::uint64_t size) const {
  auto given = given_;
  given[name] = size;
  return {map_, config_, std::move(given)};
}

/// A size of the map itself, from the first formula whose names have values. Within its own formulas its name is a
/// field of config.json.
FormulaValue MapSizes::reckoned(const std::string& name) const {
  if (const auto known = reckoned_.find(name); known != reckoned_.end()) return known->second;
  const auto formulas = map_.sizes.find(name);
  const bool is_own = !in_progress_.empty() && in_progress_.back() == name;
  if (formulas == map_.sizes.end() || is_own) return {};
  if (std::find(in_progress_.begin(), in_progress_.end(), name) != in_progress_.end() ||
      in_progress_.size() == most_chained)
    throw Error(Kind::layout, map_.origin,
                {"size " + name + " follows from itself, or from too many others: " + join(in_progress_),
                 "sizes that follow from config.json", "mend \"sizes\""});
  in_progress_.push_back(name);
  FormulaValue result;
  for (const Formula& formula : formulas->second) {
    result = *formula.value([&](const std::string& other) { return std::optional(value(other)); });
    if (result.kind != FormulaValue::Kind::nothing) break;
  }
  in_progress_.pop_back();
  return reckoned_[name] = result;
}

FormulaValue MapSizes::value(const std::string& name) const {
  if (const auto given = given_.find(name); given != given_.end())
    return FormulaValue::of(static_cast<std::int64_t>(given->second));
  const FormulaValue of_map = reckoned(name);
  return of_map.kind != FormulaValue::Kind::nothing ? of_map : config_.field(name);
}

std::uint64_t MapSizes::size(const std::string& axis) const {
  if (const auto known = known_.find(axis); known != known_.end()) return known->second;
  const FormulaValue value = with_context(map_.origin + ": size " + axis, [&] { return this->value(axis); });
  if (value.kind == FormulaValue::Kind::whole && value.whole > 0)
    return known_[axis] = static_cast<std::uint64_t>(value.whole);
  std::vector<std::string> formulas;
  if (const auto found = map_.sizes.find(axis); found != map_.sizes.end())
    for (const Formula& formula : found->second) formulas.push_back("\"" + formula.text() + "\"");
  const std::string where =
      config_.origin().empty() ? "there is no config.json" : config_.origin() + " does not give it";
  throw Error(Kind::input, map_.origin + ": size " + axis,
              {value.kind == FormulaValue::Kind::nothing ? where : "it is not 1 or more",
               "a whole number from " + join(formulas, 4),
               "say it with --size " + axis + "=N, or give a model's directory with --expect HF_DIR"});
}

void MapSizes::check_against(const ModelConfig& recorded) const {
  const MapSizes others(map_, recorded, given_);
  for (const auto& [axis, size] : known_) {
    const FormulaValue other = others.value(axis);
    if (other.kind != FormulaValue::Kind::whole || other.whole == static_cast<std::int64_t>(size)) continue;
    throw Error(Kind::input, map_.origin + ": size " + axis,
                {"it is " + std::to_string(size) + " by " + (config_.origin().empty() ? "--size" : config_.origin()),
                 std::to_string(other.whole) + " by " + recorded.origin(),
                 "give the config.json of this model, or say the right one with --size " + axis + "=N"});
  }
}

}  // namespace ckpt
