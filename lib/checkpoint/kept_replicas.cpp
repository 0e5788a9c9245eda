#include "checkpoint/kept_replicas.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/naming.hpp"

namespace ckpt {

namespace {

bool says_one_replica(const Attribute& attribute) {
  return attribute.name == "remove_redundancy" && text_in(attribute.value) == "True";
}

bool has_one_replica(const FileCatalog& file) {
  const auto& attributes = file.schema->attributes;
  return std::any_of(attributes.begin(), attributes.end(), says_one_replica);
}

/// Files that share a schema continue to share one.
void take_word_away(std::vector<FileCatalog>& files) {
  std::map<const Schema*, std::shared_ptr<const Schema>> changed;
  for (FileCatalog& file : files) {
    auto& known = changed[file.schema.get()];
    if (!known) {
      Schema schema = *file.schema;
      std::erase_if(schema.attributes, says_one_replica);
      known = std::make_shared<const Schema>(std::move(schema));
    }
    file.schema = known;
  }
}

/// The positions that hold each name.
std::map<std::string, std::vector<std::uint64_t>> holders_of(const std::vector<CardArrays>& card_arrays) {
  std::map<std::string, std::vector<std::uint64_t>> holders;
  for (std::uint64_t position = 0; position < card_arrays.size(); ++position)
    for (const StoredArray& array : *card_arrays[position]) holders[array.name].push_back(position);
  return holders;
}

/// The coordinates that describe exactly these positions; nothing where they cover others, too.
std::optional<At> at_of_holders(const Mesh& mesh, const std::vector<std::uint64_t>& holders) {
  std::vector<std::set<std::uint64_t>> found(mesh.axes.size());
  for (const std::uint64_t position : holders)
    for (std::size_t axis = 0; axis < found.size(); ++axis) found[axis].insert(mesh.coordinate(position, axis));
  At at;
  std::uint64_t positions = 1;
  for (std::size_t axis = 0; axis < found.size(); ++axis) {
    positions *= found[axis].size();
    if (found[axis].size() < mesh.shape[axis]) at[axis] = {found[axis].begin(), found[axis].end()};
  }
  return positions == holders.size() ? std::optional(at) : std::nullopt;
}

const StoredArray* array_on(const CardArrays& arrays_on_card, const std::string& name) {
  return &*std::find_if(arrays_on_card->begin(), arrays_on_card->end(),
                        [&](const auto& array) { return array.name == name; });
}

bool takes_first(const Rule& rule) {
  return rule.keys.replicas == Replicas::first;
}

/// Whether a decision puts a parameter on a card.
bool is_given_to(const Keys& keys, const Mesh& mesh, std::uint64_t position) {
  if (keys.boxes) return keys.boxes->contains(mesh.card(position));
  return !keys.at || std::all_of(keys.at->begin(), keys.at->end(), [&](const auto& entry) {
    return std::find(entry.second.begin(), entry.second.end(), mesh.coordinate(position, entry.first)) !=
           entry.second.end();
  });
}

/// Identifies the piece of a parameter that a card has: its coordinates on the axes that cut it, or its box's corner.
std::vector<std::uint64_t> piece_of(const Keys& keys, const Mesh& mesh, std::uint64_t position) {
  std::vector<std::uint64_t> piece;
  if (keys.boxes) {
    const Box& box = keys.boxes->at(mesh.card(position));
    piece.assign(box.lo.begin(), box.lo.end());
    return piece;
  }
  if (keys.split)
    for (const auto& axes : *keys.split)
      for (const Axis axis : axes) piece.push_back(mesh.coordinate(position, axis));
  if (keys.flat) piece.push_back(mesh.coordinate(position, keys.flat->axis));
  return piece;
}

/// Whether cards number this name on their own (`indices`): it is another parameter on each card then, so who holds the
/// name does not show who keeps a copy.
bool is_counted(const Layout& layout, const std::string& name) {
  return std::any_of(layout.indices.begin(), layout.indices.end(),
                     [&](const IndexRule& index) { return index.in.matches(name); });
}

/// Whether some cards lack a parameter that a plan gives them although others hold each piece of it.
bool lacks_copies(const Keys& keys, const Mesh& mesh, const std::vector<std::uint64_t>& holders) {
  std::set<std::vector<std::uint64_t>> wanted;
  std::set<std::vector<std::uint64_t>> found;
  std::size_t given = 0;
  for (std::uint64_t position = 0; position < mesh.size(); ++position) {
    if (!is_given_to(keys, mesh, position)) continue;
    ++given;
    wanted.insert(piece_of(keys, mesh, position));
    if (std::binary_search(holders.begin(), holders.end(), position)) found.insert(piece_of(keys, mesh, position));
  }
  return holders.size() < given && wanted == found;
}

/// Whether a plan's files hold some parameter only once that several cards have; .ckpt files do not say so themselves.
bool shows_one_replica(const Layout& layout, const Naming& naming,
                       const std::map<std::string, std::vector<std::uint64_t>>& holders) {
  std::vector<std::string> once;
  for (const auto& [name, positions] : holders)
    if (const auto decision = naming.decide(naming.renamed(name));
        decision && lacks_copies(decision->keys, layout.mesh, positions))
      once.push_back(name);
  if (once.empty()) return false;
  log::warn(
      "{}: cards lack copies of {} that others hold, as MindSpore saves with remove_redundancy; each piece is "
      "read where it is: {}",
      layout.origin, once.size() == 1 ? "a parameter" : std::to_string(once.size()) + " parameters", join(once, 4));
  return true;
}

/// Gives the pieces of a parameter, by their numbers, to just these positions: each card chose which pieces it keeps.
void keep_pieces(Keys& keys, const Mesh& mesh, const std::vector<std::uint64_t>& holders, const StoredArray& first) {
  if (keys.uneven || keys.sizes || keys.parts || keys.pad || keys.flat || keys.permute)
    throw Error(Kind::layout, "parameter '" + first.name + "'",
                {"the cards that kept it are at positions " + format_list(holders),
                 "those with some coordinates of the mesh", "is the layout's mesh the job's?"});
  const std::size_t rank = first.shape.size();
  auto split = keys.split.value_or(std::vector<std::vector<Axis>>{});
  split.resize(std::max(rank, split.size()));
  Keys held;
  held.grid.emplace();
  for (const auto& axes : split) held.grid->push_back(axes.empty() ? 1 : mesh.combinations(axes));
  Boxes boxes;
  for (const std::uint64_t position : holders) {
    Box box{Shape(split.size()), Shape(split.size())};
    for (std::size_t d = 0; d < split.size(); ++d) {
      const std::uint64_t piece = split[d].empty() ? 0 : mesh.combination_at(split[d], position);
      box.set(d, {piece, piece + 1});
    }
    boxes.emplace(mesh.card(position), std::move(box));
  }
  held.boxes = std::move(boxes);
  keys.override_with(held);
}

/// Puts a parameter on these coordinates. Where they are those of "last" they still follow the mesh.
void keep_at(Keys& keys, At at) {
  std::erase_if(keys.at_last, [&](const auto& last) {
    const auto now = at.find(last.first);
    return now == at.end() || now->second != keys.at->at(last.first);
  });
  keys.at = std::move(at);
}

/// The boxes that just these positions have.
Boxes boxes_of_holders(const Boxes& boxes, const Mesh& mesh, const std::vector<std::uint64_t>& holders) {
  Boxes kept;
  for (const std::uint64_t position : holders)
    if (const auto found = boxes.find(mesh.card(position)); found != boxes.end()) kept.insert(*found);
  return kept;
}

}  // namespace

Layout with_kept_replicas(Layout layout, std::vector<FileCatalog>& files, const std::vector<CardArrays>& card_arrays) {
  const bool is_said = !files.empty() && std::all_of(files.begin(), files.end(), has_one_replica);
  const bool may_lack = std::any_of(layout.parameters.begin(), layout.parameters.end(), takes_first);
  if (!is_said && !layout.is_plan && !may_lack) return layout;
  const Naming naming(layout);
  const auto holders = holders_of(card_arrays);
  if (is_said) take_word_away(files);
  const bool is_of_all = is_said || (layout.is_plan && shows_one_replica(layout, naming, holders));
  if (!is_of_all && !may_lack) return layout;
  std::vector<Rule> rules;
  std::set<std::size_t> replaced;  // rules whose names all have their own rule now
  std::set<std::size_t> in_use;
  for (const auto& [name, positions] : holders) {
    const std::string logical = naming.renamed(name);
    const auto decision = naming.decide(logical);
    if (!decision) continue;
    const bool is_kept_once = is_of_all ? positions.size() < card_arrays.size()
                                        : decision->keys.replicas == Replicas::first && !is_counted(layout, logical) &&
                                              lacks_copies(decision->keys, layout.mesh, positions);
    (is_kept_once ? replaced : in_use).insert(decision->rules.begin(), decision->rules.end());
    if (!is_kept_once) continue;
    Rule rule;
    rule.names.emplace_back(literal(logical));
    rule.keys = decision->keys;
    if (rule.keys.boxes)
      rule.keys.boxes = boxes_of_holders(*rule.keys.boxes, layout.mesh, positions);
    else if (auto at = at_of_holders(layout.mesh, positions))
      keep_at(rule.keys, std::move(*at));
    else
      keep_pieces(rule.keys, layout.mesh, positions, *array_on(card_arrays[positions.front()], name));
    rules.push_back(std::move(rule));
  }
  for (std::size_t i = 0; i < layout.parameters.size(); ++i)
    if (!replaced.contains(i) || in_use.contains(i)) rules.push_back(std::move(layout.parameters[i]));
  layout.parameters = std::move(rules);
  return layout;
}

}  // namespace ckpt
