#include "output/target_names.hpp"

#include <set>

#include <nlohmann/json.hpp>

namespace ckpt {

namespace {

/// Whether JSON, in which layouts and manifests are written, can hold it.
bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

/// The source's file that a parameter is read from, the first of them.
std::string file_of(const Checkpoint& source, const Placement& placement, ParameterId parameter) {
  for (Position card = 0; card < source.files().size(); ++card)
    if (placement.holds(card, placement.array_of(parameter))) return source.file_name(card);
  return "the source";
}

void check_text(const Checkpoint& source, const Planner& planner) {
  for (ParameterId p = 0; p < planner.target().tensors().size(); ++p) {
    const std::string& name = planner.target().tensors()[p].name;
    if (is_utf8(name)) continue;
    const ParameterId from = planner.source_of(p);
    const std::string& before = planner.source().tensors()[from].name;
    throw Error(Kind::input, file_of(source, planner.source(), from),
                {"the name of parameter \"" + before + "\"" +
                     (before == name ? "" : " becomes \"" + name + "\", which") + " is not UTF-8",
                 "text that a manifest can hold",
                 "",
                 {Advice::What::rename_or_leave_out, ""}})
        .of_parameter(before);
  }
}

}  // namespace

void check_target_names(const Checkpoint& source, const Planner& planner, const std::vector<Position>& cards,
                        const Store& store) {
  check_text(source, planner);
  std::set<std::string> groups;
  std::set<const Schema*> seen;
  for (const FileCatalog& file : source.files())
    if (seen.insert(file.schema.get()).second)
      for (const Group& group : file.schema->groups) groups.insert(group.path);
  const std::vector<std::string> of_groups(groups.begin(), groups.end());
  const Placement& target = planner.target();
  std::vector<std::string> before;
  for (const Position card : cards) {
    std::vector<std::string> names;
    for (ArrayId array = 0; array < target.arrays().size(); ++array)
      if (target.holds(card, array)) names.push_back(target.arrays()[array].name);
    if (names == before) continue;  // as on most cards
    store.check_names(names, of_groups);
    before = std::move(names);
  }
}

}  // namespace ckpt
