#include "layout/language/layout.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/language/shared_cards.hpp"
#include "layout/names/card_names.hpp"
#include "layout/names/rule_name.hpp"

namespace ckpt {

void Keys::override_with(const Keys& over) {
  if (over.boxes) {  // they replace everything that cuts
    Keys kept;
    kept.shape = std::move(shape);
    kept.permute = std::move(permute);
    kept.replicas = replicas;
    kept.boxes = over.boxes;
    kept.grid = over.grid;
    *this = std::move(kept);
  }
  const auto take = [](auto& mine, const auto& theirs) {
    if (theirs) mine = theirs;
  };
  take(split, over.split);
  take(uneven, over.uneven);
  take(sizes, over.sizes);
  take(parts, over.parts);
  take(pad, over.pad);
  take(flat, over.flat);
  take(shape, over.shape);
  take(permute, over.permute);
  if (over.at) at_last = over.at_last;  // else "last" would stand where a borrowed rule had it
  take(at, over.at);
  take(replicas, over.replicas);
}

Keys Keys::without_cuts() const {
  Keys kept;
  kept.shape = shape;
  kept.at = at;
  kept.at_last = at_last;
  kept.replicas = replicas;
  return kept;
}

Keys Keys::plain() const {
  Keys keys = *this;
  if (split && split->empty()) keys.split.reset();
  if (uneven == Uneven::exact) keys.uneven.reset();
  if (sizes && sizes->empty()) keys.sizes.reset();
  if (pad && pad->empty()) keys.pad.reset();
  if (at && at->empty()) keys.at.reset();
  if (replicas == Replicas::check) keys.replicas.reset();
  return keys;
}

Layout single_card() {
  Layout layout;
  layout.origin = "the layout of a single file";
  layout.mesh = Mesh{{"card"}, {1}, {}};
  layout.default_rule = Default::replicate;
  return layout;
}

namespace {

std::string axis_word(const Mesh& mesh, Axis axis) {
  return mesh.axes[axis] + "=" + std::to_string(mesh.shape[axis]);
}

/// Refuses coordinates that exist only on the old mesh, in the terms of the layout's author.
void check_at(const std::optional<At>& at, const At& at_last, const std::string& who, const Layout& layout,
              const Mesh& mesh, const std::string& origin) {
  for (const auto& [axis, all] : at.value_or(At{})) {
    const auto follows = at_last.find(axis);
    const auto& coordinates = follows == at_last.end() ? all : follows->second;
    if (coordinates.empty() || coordinates.back() < mesh.shape[axis]) continue;
    const bool was_last = coordinates.back() + 1 == layout.mesh.shape[axis];
    const std::string last =
        coordinates.size() == 1 ? "\"last\"" : "\"last\" for " + std::to_string(coordinates.back());
    throw Error(
        Kind::layout, origin,
        {who + " of " + layout.origin + " lives at " + mesh.axes[axis] + "=" + format_list(coordinates),
         "coordinates below " + std::to_string(mesh.shape[axis]) + " on a mesh of " + axis_word(mesh, axis),
         was_last ? "write " + last + " in its \"at\", which follows the mesh" : "give a layout for that mesh"});
  }
}

/// Refuses pieces that are listed individually for another number of cards.
void check_pieces(const Keys& keys, const std::string& who, const Layout& layout, const Mesh& mesh,
                  const std::string& origin) {
  for (const auto& [dim, sizes] : keys.sizes.value_or(std::map<std::size_t, std::vector<std::uint64_t>>{})) {
    if (!keys.split || dim >= keys.split->size() || (*keys.split)[dim].size() != 1) continue;
    const Axis axis = (*keys.split)[dim].front();
    if (mesh.shape[axis] != layout.mesh.shape[axis])
      throw Error(Kind::layout, origin,
                  {who + " of " + layout.origin + " has " + std::to_string(sizes.size()) + " sizes for dimension " +
                       std::to_string(dim),
                   std::to_string(mesh.shape[axis]) + " on a mesh of " + axis_word(mesh, axis),
                   "leave \"sizes\" out if \"uneven\" says how it is to be cut, or give a layout for that mesh"});
  }
  if (keys.boxes && keys.boxes->rbegin()->first >= mesh.size())
    throw Error(Kind::layout, origin,
                {who + " of " + layout.origin + " has a box for card " + std::to_string(keys.boxes->rbegin()->first),
                 "boxes for cards below " + std::to_string(mesh.size()),
                 "boxes are for one mesh alone: give a layout for the other, or say \"split\" instead"});
}

void check_index(const IndexRule& index, const Layout& layout, const Mesh& mesh, const std::string& origin) {
  const std::uint64_t ways = mesh.combinations(index.axes);
  if (ways == layout.mesh.combinations(index.axes)) return;
  std::vector<std::string> axes;
  for (const Axis axis : index.axes) axes.push_back(axis_word(mesh, axis));
  const std::string who = "indices \"" + index.in.text() + "\" of " + layout.origin;
  if (!index.counts.empty())
    throw Error(Kind::layout, origin,
                {who + " has " + std::to_string(index.counts.size()) + " counts",
                 std::to_string(ways) + " on a mesh of " + join(axes),
                 "leave \"counts\" out if the blocks are to be equal, or give a layout for that mesh"});
  if (const std::uint64_t blocks = ways * index.virtual_chunks; index.total.value_or(0) % blocks != 0)
    throw Error(Kind::layout, origin,
                {who + " counts " + std::to_string(*index.total),
                 "a multiple of " + std::to_string(blocks) + " (axis × virtual) on a mesh of " + join(axes),
                 "give a layout for that mesh, with \"counts\" for uneven blocks"});
}

/// Returns where a bucket lies on another mesh: "last" refers to that mesh.
std::optional<At> moved(const Bucket& bucket, const Mesh& mesh) {
  auto at = bucket.at;
  for (const auto& [axis, beside] : bucket.at_last) {
    auto& coordinates = (*at)[axis] = beside;
    if (const std::uint64_t last = mesh.shape[axis] - 1; coordinates.empty() || coordinates.back() != last)
      coordinates.push_back(last);
  }
  return at;
}

/// Refuses buckets of one name that end up on one card: with fewer stages the framework would have filled one bucket.
void check_apart(const Layout& layout, const Mesh& mesh, const std::string& origin) {
  std::map<std::string, std::vector<const Bucket*>> by_name;
  for (const Bucket& bucket : layout.buckets) {
    auto& same = by_name[bucket.name];
    for (const Bucket* other : same)
      if (share_a_card(moved(*other, mesh), moved(bucket, mesh)))
        throw Error(Kind::layout, origin,
                    {"two buckets of " + layout.origin + " are called \"" + bucket.name + "\" (with the members \"" +
                         other->members.front().name + "\" and \"" + bucket.members.front().name +
                         "\") and would lie on one card",
                     "one bucket of a name on each card",
                     "give a layout for that mesh, in which one bucket has the members of both, in the framework's "
                     "order"});
    same.push_back(&bucket);
  }
}

/// Checks everything that names coordinates of the axes that change, or counts by them.
void check_coordinates(const Layout& layout, const Mesh& mesh, const std::string& origin) {
  for (std::size_t r = 0; r < layout.parameters.size(); ++r) {
    const Rule& rule = layout.parameters[r];
    const std::string who = rule_name(layout, r);
    check_at(rule.keys.at, rule.keys.at_last, who, layout, mesh, origin);
    check_pieces(rule.keys, who, layout, mesh, origin);
  }
  for (const Bucket& bucket : layout.buckets)
    check_at(bucket.at, bucket.at_last, "bucket \"" + bucket.name + "\"", layout, mesh, origin);
  check_apart(layout, mesh, origin);
  for (const IndexRule& index : layout.indices) check_index(index, layout, mesh, origin);
}

}  // namespace

Layout on_mesh(const Layout& layout, const std::map<std::string, std::uint64_t>& sizes, const std::string& origin) {
  Layout changed = with_plain_names(layout);
  changed.mesh.cards.clear();
  for (const auto& [name, size] : sizes) {
    const auto axis = layout.mesh.axis(name);
    if (!axis) {
      Advice advice;
      if (layout.mesh.axes.size() == 1) {  // on so many cards as were meant
        std::uint64_t cards = 1;
        for (const auto& [other, count] : sizes) cards = checked_mul(cards, count, "a mesh");
        advice = {Advice::What::say_axes, layout.mesh.axes.front() + "=" + std::to_string(cards)};
      }
      throw Error(
          Kind::usage, "--to-mesh " + name + "=" + std::to_string(size),
          {layout.origin + " has no axis \"" + name + "\"", "one of its axes: " + join(layout.mesh.axes), "", advice});
    }
    if (size == 0) throw Error(Kind::usage, origin, {"found size 0 for the axis \"" + name + "\"", "1 at least", ""});
    changed.mesh.shape[*axis] = size;
  }
  check_coordinates(layout, changed.mesh, origin);
  // The parser checks everything else that depends on the sizes (files, sizes, boxes).
  changed.origin = origin;
  changed = checked(changed);
  changed.is_on_other_mesh = true;
  return changed;
}

}  // namespace ckpt
