#include "output/target_names.hpp"

#include <set>

#include <nlohmann/json.hpp>

namespace ckpt {

namespace {

/// Why layouts, manifests and indexes, which are JSON, cannot hold a text, or could not be read with it (parse_node);
/// empty if they can.
std::string flaw_in(const std::string& text) {
  if (text.find('\0') != std::string::npos) return " has a NUL character";
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return "";
  } catch (const nlohmann::json::type_error&) {
    return " is not UTF-8";
  }
}

/// The first of the source's files from which a parameter is read.
std::string file_of(const Checkpoint& source, const Placement& placement, ParameterId parameter) {
  const ArrayId array = placement.array_of(parameter);
  for (Position card = 0; card < placement.mesh().size(); ++card)
    if (placement.holds(card, array)) return source.file_name(ArrayFiles(placement).file(card, array));
  return "the source";
}

void check_text(const Checkpoint& source, const Planner& planner) {
  for (ParameterId p = 0; p < planner.target().tensors().size(); ++p) {
    const std::string& name = planner.target().tensors()[p].name;
    const std::string flaw = flaw_in(name);
    if (flaw.empty()) continue;
    const ParameterId from = planner.source_of(p);
    const std::string& before = planner.source().tensors()[from].name;
    throw Error(
        Kind::input, file_of(source, planner.source(), from),
        {"the name of parameter \"" + before + "\"" + (before == name ? "" : " becomes \"" + name + "\", which") + flaw,
         "text that a manifest can hold",
         "",
         {Advice::What::rename_or_leave_out, ""}})
        .of_parameter(before);
  }
}

/// The groups with attributes, by their paths with the files' prefixes.
std::set<std::string> groups_of(const Checkpoint& source) {
  std::set<std::string> groups;
  std::set<std::pair<const Schema*, std::size_t>> seen;
  for (FileNumber file = 0; file < source.files().size(); ++file) {
    const Schema& schema = *source.file(file).schema;
    const std::size_t entry = source.table().entry(file);
    if (!seen.insert({&schema, entry}).second) continue;
    for (const Group& group : schema.groups) groups.insert(source.layout().files.entries()[entry].prefix + group.path);
  }
  return groups;
}

}  // namespace

void check_target_names(const Checkpoint& source, const Planner& planner, const std::vector<Position>& cards,
                        const Store& store) {
  check_text(source, planner);
  const Placement& target = planner.target();
  const CardFiles& files = target.layout().files;
  const ArrayFiles where(target);
  const std::set<std::string> groups = groups_of(source);
  for (std::size_t entry = 0; entry < files.entries().size(); ++entry) {
    std::vector<std::string> of_groups;
    for (const std::string& group : groups)
      if (files.entry_of(group) == entry) of_groups.push_back(files.name_within(group));
    std::vector<std::string> before;
    for (const Position card : cards) {
      std::vector<std::string> names;
      for (ArrayId array = 0; array < target.arrays().size(); ++array)
        if (where.entry(array) == entry && target.holds(card, array)) names.push_back(where.name(array));
      if (names == before) continue;  // as on most cards
      store.check_names(names, of_groups);
      before = std::move(names);
    }
  }
}

}  // namespace ckpt
