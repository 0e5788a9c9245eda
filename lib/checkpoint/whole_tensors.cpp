#include "checkpoint/whole_tensors.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "layout/names/naming.hpp"

namespace ckpt {

namespace {

struct Holder {
  std::uint64_t position = 0;
  const StoredArray* array = nullptr;
};

enum class Verdict { whole, cut, unknown };

/// Identifies a card's piece: different pieces have different values.
std::vector<std::uint64_t> piece_on(const Layout& layout, const Keys& keys, std::uint64_t position) {
  if (keys.boxes) {
    const auto found = keys.boxes->find(layout.mesh.card(position));
    if (found == keys.boxes->end()) return {};
    std::vector<std::uint64_t> origin(found->second.lo.begin(), found->second.lo.end());
    return origin;
  }
  std::vector<std::uint64_t> coordinates;
  for (const auto& axes : keys.split.value_or(std::vector<std::vector<Axis>>{}))
    for (const Axis axis : axes) coordinates.push_back(layout.mesh.coordinate(position, axis));
  return coordinates;
}

Verdict by_shape(const std::vector<std::uint64_t>& shape, const Holder& first, const Holder& other) {
  const Shape whole(shape);
  return first.array->shape == whole && other.array->shape == whole ? Verdict::whole : Verdict::cut;
}

Verdict by_data(const std::string& name, const Holder& first, const Holder& other, const SampleOf& sample) {
  if (!(first.array->shape == other.array->shape) || !(first.array->dtype == other.array->dtype)) return Verdict::cut;
  const auto one = sample(first.position, name);
  const auto two = one ? sample(other.position, name) : std::nullopt;
  if (!two || one->is_empty) return Verdict::unknown;
  if (one->digest != two->digest) return Verdict::cut;
  return one->value.empty() ? Verdict::whole : Verdict::unknown;
}

}  // namespace

bool hold_whole_tensors(const Layout& layout, const std::vector<CardArrays>& card_arrays, const SampleOf& sample) {
  std::map<std::string, std::vector<Holder>> holders;
  for (std::uint64_t position = 0; position < card_arrays.size(); ++position)
    for (const StoredArray& array : *card_arrays[position]) holders[array.name].push_back({position, &array});
  const Naming naming(layout);
  bool is_any_whole = false;
  for (const auto& [name, all] : holders) {
    const auto decision = naming.decide(naming.renamed(name));
    if (!decision || all.front().array->verbatim) continue;
    const Keys& keys = decision->keys;
    const auto first = piece_on(layout, keys, all.front().position);
    // The last card has the last piece, unless it has a copy of the first.
    const auto other = std::find_if(all.rbegin(), all.rend(), [&](const Holder& holder) {
      return piece_on(layout, keys, holder.position) != first;
    });
    if (other == all.rend()) continue;
    const Verdict verdict =
        keys.shape ? by_shape(*keys.shape, all.front(), *other) : by_data(name, all.front(), *other, sample);
    if (verdict == Verdict::cut) return false;
    is_any_whole |= verdict == Verdict::whole;
  }
  return is_any_whole;
}

Layout without_cuts(Layout layout) {
  for (Rule& rule : layout.parameters) {
    Keys kept = rule.keys.without_cuts();
    if (rule.keys.boxes) {
      std::set<std::uint64_t> coordinates;  // stages are the mesh's first axis
      for (std::uint64_t position = 0; position < layout.mesh.size(); ++position)
        if (rule.keys.boxes->contains(layout.mesh.card(position)))
          coordinates.insert(layout.mesh.coordinate(position, 0));
      if (coordinates.size() < layout.mesh.shape.front()) kept.at = At{{0, {coordinates.begin(), coordinates.end()}}};
    }
    rule.keys = std::move(kept);
  }
  return layout;
}

}  // namespace ckpt
