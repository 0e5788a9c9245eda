#include "frameworks/cut_rules.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/name_groups.hpp"
#include "layout/names/pattern_index.hpp"
#include "layout/placement/box_cover.hpp"

namespace ckpt {

namespace {

constexpr Axis file_axis = 0;
constexpr Axis slot_axis = 1;

bool is_first_slot(const Mesh& mesh, Position card) {
  return mesh.axes.size() < 2 || mesh.coordinate(card, slot_axis) == 0;
}

/// The keys of a tensor that each card either holds whole or lacks; else nothing.
std::optional<Keys> whole_keys(const CutTensor& tensor, const Mesh& mesh) {
  const Box all = whole(tensor.shape);
  std::set<std::uint64_t> files;
  for (const CutTensor::CardPiece& held : tensor.held) {
    if (!(held.box == all) || !is_first_slot(mesh, held.card)) return std::nullopt;
    files.insert(mesh.coordinate(held.card, file_axis));
  }
  Keys keys;
  At at;
  if (files.size() < mesh.shape[file_axis]) at[file_axis] = {files.begin(), files.end()};
  if (mesh.axes.size() > 1) at[slot_axis] = {0};
  if (!at.empty()) keys.at = std::move(at);
  return keys;
}

/// The keys of a tensor that is cut along one dimension only, over all files in their order; else nothing. Padded
/// pieces all have the size of the first.
std::optional<Keys> split_keys(const CutTensor& tensor, const Mesh& mesh) {
  const std::uint64_t cards = mesh.shape[file_axis];
  std::optional<std::size_t> cut;
  for (std::size_t d = 0; d < tensor.shape.size() && !cut; ++d)
    if (std::any_of(tensor.held.begin(), tensor.held.end(),
                    [&](const auto& held) { return held.box[d].size() < tensor.shape[d]; }))
      cut = d;
  if (!cut) return std::nullopt;
  const std::uint64_t size = tensor.shape[*cut];
  const std::uint64_t each = tensor.is_padded ? tensor.held.front().box[*cut].size() : ceil_div(size, cards);
  if (each == 0) return std::nullopt;
  const std::uint64_t pieces = ceil_div(size, each);
  const std::uint64_t end = tensor.is_padded ? checked_mul(pieces, each, "the padding") : size;
  std::uint64_t found = 0;
  for (const CutTensor::CardPiece& held : tensor.held) {
    const std::uint64_t card = std::min(pieces, mesh.coordinate(held.card, file_axis));
    Box expected = whole(tensor.shape);
    expected.set(*cut, {std::min(end, card * each), std::min(end, (card + 1) * each)});
    if (!(held.box == expected) || !is_first_slot(mesh, held.card)) return std::nullopt;
    if (!held.box.empty()) ++found;
  }
  if (found != pieces) return std::nullopt;
  Keys keys;
  keys.split.emplace(*cut + 1);
  keys.split->back() = {file_axis};
  At at;
  if (tensor.is_padded) {
    keys.pad.emplace().emplace(*cut, Pad{size, each == ceil_div(size, cards) ? 1 : each, Fill::zero});
    for (std::uint64_t file = 0; pieces < cards && file < pieces; ++file) at[file_axis].push_back(file);
  } else {
    keys.uneven = Uneven::ceil;
  }
  if (mesh.axes.size() > 1) at[slot_axis] = {0};
  if (!at.empty()) keys.at = std::move(at);
  return keys;
}

/// Patterns for names that are cut alike.
struct NameFamily {
  std::size_t kind = 0;  ///< of the keys
  std::vector<Pattern> patterns;
  std::vector<std::string> names;
  bool is_short = false;  ///< one pattern for several names
};

/// Numbers keys that say the same. Most tensors have the keys of one just before them, which are found without writing
/// them as text.
class KeyKinds {
 public:
  explicit KeyKinds(const Mesh& mesh) : mesh_(mesh) {}

  std::size_t of(const Keys& keys) {
    const auto known = std::ranges::find_if(recent_, [&](std::size_t kind) { return keys_[kind] == keys; });
    if (known != recent_.end()) return *known;
    const auto [found, is_new] = by_text_.try_emplace(text_of(keys, mesh_), keys_.size());
    if (is_new) keys_.push_back(keys);
    if (recent_.size() < most_recent)
      recent_.push_back(found->second);
    else
      recent_[next_++ % most_recent] = found->second;
    return found->second;
  }
  const std::vector<Keys>& keys() const noexcept { return keys_; }

 private:
  static constexpr std::size_t most_recent = 16;

  const Mesh& mesh_;
  std::vector<Keys> keys_;
  std::unordered_map<std::string, std::size_t> by_text_;
  std::vector<std::size_t> recent_;
  std::size_t next_ = 0;
};

void write_out(NameFamily& group) {
  group.patterns.clear();
  for (const std::string& name : group.names) group.patterns.emplace_back(literal(name));
  group.is_short = false;
}

std::vector<NameFamily> groups_of(const std::vector<std::vector<std::string>>& names_of_kind) {
  std::vector<NameFamily> groups;
  for (std::size_t kind = 0; kind < names_of_kind.size(); ++kind)
    for (NameGroup& found : group_names(names_of_kind[kind])) {
      NameFamily group{kind, {}, std::move(found.names), true};
      const bool is_plain = std::none_of(group.names.front().begin(), group.names.front().end(), begins_pattern);
      if (group.names.size() > 1 && is_plain)
        group.patterns.emplace_back(found.pattern);
      else
        write_out(group);
      groups.push_back(std::move(group));
    }
  return groups;
}

/// Replaces patterns that match names of other kinds by the names themselves, until none matches any.
void part(std::vector<NameFamily>& groups, const std::vector<std::vector<std::string>>& names_of_kind) {
  if (names_of_kind.size() < 2) return;
  for (bool is_parted = false; !is_parted;) {
    is_parted = true;
    std::vector<const Pattern*> patterns;
    std::vector<std::size_t> group_of;
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const Pattern& pattern : groups[g].patterns) {
        patterns.push_back(&pattern);
        group_of.push_back(g);
      }
    const PatternIndex index(std::move(patterns));
    std::set<std::size_t> wrong;
    for (std::size_t kind = 0; kind < names_of_kind.size(); ++kind)
      for (const std::string& name : names_of_kind[kind])
        if (const std::size_t g = group_of[*index.first(name)]; groups[g].kind != kind) wrong.insert(g);
    for (const std::size_t g : wrong) {
      write_out(groups[g]);
      is_parted = false;
    }
  }
}

Layout with_rules(std::vector<NamedKeys> names, const Mesh& mesh, const std::string& origin) {
  Layout layout;
  layout.origin = origin;
  layout.mesh = mesh;
  layout.parameters = rules_of(names, mesh);
  return layout;
}

}  // namespace

std::string text_of(const Keys& keys, const Mesh& mesh) {
  Layout layout;
  layout.mesh = mesh;
  layout.parameters.push_back({{Pattern("*")}, keys, {}, {}});
  return to_json(layout);
}

Keys keys_of(const CutTensor& tensor, const Mesh& mesh) {
  if (auto keys = whole_keys(tensor, mesh)) return *keys;
  if (auto keys = split_keys(tensor, mesh)) return *keys;
  Keys keys;
  Boxes boxes;
  for (const CutTensor::CardPiece& held : tensor.held) boxes.emplace(mesh.card(held.card), held.box);
  Shape shape = tensor.shape;
  if (tensor.is_padded) {
    shape = BoxCover::reach(boxes);
    auto& pad = keys.pad.emplace();
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] > tensor.shape[d]) pad[d] = Pad{tensor.shape[d], 1, Fill::zero};
  }
  try {
    const BoxCover cover(boxes, shape, mesh);
  } catch (const Error& error) {
    throw Error(Kind::input, "/" + tensor.name,
                {error.text().found, "pieces that make up " + to_string(tensor.shape),
                 "are all of the checkpoint's files there, and of one save?"})
        .of_parameter(tensor.name);
  }
  keys.boxes = std::move(boxes);
  return keys;
}

void pad_pieces(CutTensor& tensor) {
  bool is_run = true;
  for (std::size_t d = tensor.shape.size(); d-- > 0 && is_run;) {
    std::uint64_t each = 0;  // divides where pieces begin
    for (const CutTensor::CardPiece& held : tensor.held) {
      each = std::gcd(each, held.box.lo[d]);
      if (held.box.hi[d] < tensor.shape[d]) each = std::gcd(each, held.box.hi[d]);
    }
    if (each == 0) continue;
    for (CutTensor::CardPiece& held : tensor.held) {
      held.box.hi[d] = round_up(held.box.hi[d], each, "the padding");
      tensor.is_padded = tensor.is_padded || held.box.hi[d] > tensor.shape[d];
      is_run = is_run && held.box[d].size() == each;
    }
  }
}

Keys keys_elsewhere(const CutTensor& tensor, Uneven uneven) {
  Keys keys;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d)
    for (const CutTensor::CardPiece& held : tensor.held)
      if (held.box[d].size() < tensor.shape[d]) {
        keys.split.emplace(d + 1);
        keys.split->back() = {file_axis};
        keys.uneven = uneven;
        return keys;
      }
  return keys;
}

std::vector<Rule> rules_of(const std::vector<NamedKeys>& names, const Mesh& mesh) {
  KeyKinds kinds(mesh);
  std::vector<std::vector<std::string>> names_of_kind;
  for (const NamedKeys& each : names) {
    const std::size_t kind = kinds.of(each.keys);
    names_of_kind.resize(kinds.keys().size());
    names_of_kind[kind].push_back(each.name);
  }
  std::vector<Keys> keys = kinds.keys();
  std::vector<NameFamily> groups = groups_of(names_of_kind);
  part(groups, names_of_kind);
  std::vector<Rule> rules(keys.size());
  for (std::size_t kind = 0; kind < keys.size(); ++kind) rules[kind].keys = std::move(keys[kind]);
  for (NameFamily& group : groups)
    for (Pattern& pattern : group.patterns) rules[group.kind].names.push_back(std::move(pattern));
  return rules;
}

Layout layout_of(const std::vector<CutTensor>& tensors, const Mesh& mesh, const std::string& origin) {
  std::vector<NamedKeys> names;
  names.reserve(tensors.size());
  for (const CutTensor& tensor : tensors) names.push_back({tensor.name, keys_of(tensor, mesh)});
  return with_rules(std::move(names), mesh, origin);
}

Layout layout_elsewhere(const std::vector<CutTensor>& tensors, std::uint64_t cards, const std::string& origin,
                        Uneven uneven) {
  std::vector<NamedKeys> names;
  names.reserve(tensors.size());
  for (const CutTensor& tensor : tensors) names.push_back({tensor.name, keys_elsewhere(tensor, uneven)});
  return with_rules(std::move(names), Mesh{{"card"}, {cards}, {}}, origin);
}

}  // namespace ckpt
