#include "diagnosis/layout_with_copies.hpp"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "layout/language/rule_json.hpp"

namespace ckpt {

namespace {

using nlohmann::json;

/// The new axis's place in the mesh; none if it would cut a tensor's axis in three, which could not keep its name.
std::optional<std::size_t> place_beside(const Mesh& mesh, const AxisCopies& copies) {
  if (copies.stride * copies.count == mesh.shape[copies.axis]) return copies.axis;
  if (copies.stride == 1) return copies.axis + 1;
  return std::nullopt;
}

/// Possible names of the new axis: an existing axis of a single card may have been meant for it.
std::vector<std::string> possible_names(const Mesh& mesh) {
  std::vector<std::string> names;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if (mesh.shape[axis] == 1) names.push_back(mesh.axes[axis]);
  for (const char* name : {"dp", "replicate", "copies"})
    if (!mesh.axis(name)) names.emplace_back(name);
  return names;
}

json mesh_with(const Mesh& mesh, const AxisCopies& copies, std::size_t place, const std::string& name) {
  json axes = json::array();
  json shape = json::array();
  for (std::size_t axis = 0; axis <= mesh.axes.size(); ++axis) {
    if (axis == place) {
      axes.push_back(name);
      shape.push_back(copies.count);
    }
    if (axis == mesh.axes.size() || mesh.axes[axis] == name) continue;
    axes.push_back(mesh.axes[axis]);
    shape.push_back(axis == copies.axis ? mesh.shape[axis] / copies.count : mesh.shape[axis]);
  }
  return {{"axes", axes}, {"shape", shape}};
}

/// Changes an entry that counted each copy to count copies once; one whose names differ counts over both axes.
void change_entry(json& entry, const Mesh& mesh, const AxisCopies& copies, const std::string& name, bool counts_on) {
  json axes = entry["axis"].is_array() ? entry["axis"] : json::array({entry["axis"]});
  const auto at = std::find(axes.begin(), axes.end(), mesh.axes[copies.axis]);
  if (at == axes.end()) return;
  if (counts_on) {
    axes.insert(copies.stride == 1 ? std::next(at) : at, name);
    entry["axis"] = axes;
    return;
  }
  if (entry.contains("total")) entry["total"] = entry["total"].get<std::uint64_t>() / copies.count;
  if (!entry.contains("counts")) return;
  json counts = json::array();
  for (std::uint64_t i = 0; i < entry["counts"].size(); ++i)
    if (i / copies.stride % copies.count == 0) counts.push_back(entry["counts"][i]);
  entry["counts"] = counts;
}

/// Whether the files fit the layout, and it gives a parameter this many copies.
bool fits(const Layout& layout, const std::vector<Holding>& files, const Placement& placement, ParameterId example,
          std::uint64_t copies) {
  try {
    const auto is_known = [&](const std::string& name) { return placement.find(name).has_value(); };
    const Placement other = resolve_source(layout, files, is_known).placement;
    const auto found = other.find(placement.tensors()[example].name);
    return found && other.copies(*found) == copies;
  } catch (const Error&) {
    return false;
  }
}

/// The text of the new mesh, and of the entries that have changed.
std::string describe(const Layout& before, const Layout& after) {
  std::string text = "\"mesh\": " + to_json(after.mesh);
  for (std::size_t entry = 0; entry < after.indices.size(); ++entry)
    if (const std::string changed = to_json(after.indices[entry], after.mesh);
        changed != to_json(before.indices[entry], before.mesh))
      text += ", and /indices/" + std::to_string(entry) + ": " + changed;
  return text;
}

/// Adds layouts whose mesh has an axis for the copies, under each possible name; none if a key needs the mesh
/// unchanged.
void add_changes(const Layout& layout, const AxisCopies& copies, const std::set<std::uint64_t>& counted_on,
                 std::vector<LayoutChange>& changes) {
  const auto place = place_beside(layout.mesh, copies);
  if (!place) return;
  const json written = json::parse(to_json(layout));
  for (const std::string& name : possible_names(layout.mesh)) {
    json changed = written;
    changed["mesh"] = mesh_with(layout.mesh, copies, *place, name);
    if (!layout.mesh.cards.empty()) changed["mesh"]["cards"] = layout.mesh.cards;
    if (changed.contains("indices"))
      for (std::size_t entry = 0; entry < changed["indices"].size(); ++entry)
        change_entry(changed["indices"][entry], layout.mesh, copies, name, counted_on.contains(entry));
    try {
      Layout other = parse_layout(changed.dump(), layout.origin);
      std::string what = describe(layout, other);
      changes.push_back({std::move(what), std::move(other)});
    } catch (const Error&) {
      continue;
    }
  }
}

}  // namespace

std::vector<LayoutChange> meshes_with_copies(const Layout& layout) {
  std::vector<LayoutChange> changes;
  for (Axis axis = 0; axis < layout.mesh.axes.size(); ++axis) {
    const std::uint64_t size = layout.mesh.shape[axis];
    for (const std::uint64_t stride : possible_strides(size)) {
      add_changes(layout, {axis, stride, size / stride}, {}, changes);
      if (stride != 1) add_changes(layout, {axis, 1, stride}, {}, changes);
    }
  }
  return changes;
}

std::string layout_with_copies(const Placement& placement, const std::vector<Holding>& files, const AxisCopies& copies,
                               ParameterId example, const std::set<std::uint64_t>& counted_on) {
  std::vector<LayoutChange> changes;
  add_changes(placement.layout(), copies, counted_on, changes);
  for (LayoutChange& change : changes)
    if (fits(change.layout, files, placement, example, placement.copies(example) * copies.count))
      return std::move(change.what);
  return "";
}

}  // namespace ckpt
