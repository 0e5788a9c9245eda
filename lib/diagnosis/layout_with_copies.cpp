#include "diagnosis/layout_with_copies.hpp"

#include <algorithm>
#include <optional>

#include "layout/language/rule_json.hpp"

namespace ckpt {

namespace {

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

Mesh mesh_with(const Mesh& mesh, const AxisCopies& copies, std::size_t place, const std::string& name) {
  Mesh with{{}, {}, mesh.cards};
  for (std::size_t axis = 0; axis <= mesh.axes.size(); ++axis) {
    if (axis == place) {
      with.axes.push_back(name);
      with.shape.push_back(copies.count);
    }
    if (axis == mesh.axes.size() || mesh.axes[axis] == name) continue;
    with.axes.push_back(mesh.axes[axis]);
    with.shape.push_back(axis == copies.axis ? mesh.shape[axis] / copies.count : mesh.shape[axis]);
  }
  return with;
}

/// The entry on the mesh with the new axis. One that counted each copy counts copies once; one whose names differ
/// counts over both axes.
IndexRule entry_with(IndexRule entry, const Mesh& before, const Mesh& after, const AxisCopies& copies,
                     const std::string& name, bool counts_on) {
  const auto place = std::find(entry.axes.begin(), entry.axes.end(), copies.axis) - entry.axes.begin();
  const bool is_over = place != std::ssize(entry.axes);
  for (Axis& axis : entry.axes) axis = after.axis(before.axes[axis]).value();
  if (is_over && counts_on)
    entry.axes.insert(entry.axes.begin() + place + (copies.stride == 1 ? 1 : 0), after.axis(name).value());
  if (!is_over || counts_on) return entry;
  if (entry.total) *entry.total /= copies.count;
  const std::vector<std::uint64_t> counts = std::move(entry.counts);
  entry.counts.clear();
  for (std::uint64_t i = 0; i < counts.size(); ++i)
    if (i / copies.stride % copies.count == 0) entry.counts.push_back(counts[i]);
  return entry;
}

/// Whether the files fit the layout, and it gives a parameter this many copies.
bool fits(const Layout& layout, const std::vector<CardArrays>& files, const Placement& placement, ParameterId example,
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
  Layout uncounted = layout;
  uncounted.indices.clear();
  for (const std::string& name : possible_names(layout.mesh)) {
    try {
      Layout other = with_axes(uncounted, mesh_with(layout.mesh, copies, *place, name));
      for (std::size_t entry = 0; entry < layout.indices.size(); ++entry)
        other.indices.push_back(
            entry_with(layout.indices[entry], layout.mesh, other.mesh, copies, name, counted_on.contains(entry)));
      if (!other.indices.empty()) other = checked(other);
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

std::string layout_with_copies(const Placement& placement, const std::vector<CardArrays>& files,
                               const AxisCopies& copies, ParameterId example,
                               const std::set<std::uint64_t>& counted_on) {
  std::vector<LayoutChange> changes;
  add_changes(placement.layout(), copies, counted_on, changes);
  for (LayoutChange& change : changes)
    if (fits(change.layout, files, placement, example, placement.copies(example) * copies.count))
      return std::move(change.what);
  return "";
}

}  // namespace ckpt
