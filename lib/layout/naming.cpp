#include "layout/naming.hpp"

#include <charconv>
#include <set>
#include <utility>

#include "base/error.hpp"

namespace ckpt {

namespace {

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

std::optional<std::uint64_t> number(const std::string& digits) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// Zeros in front are part of how a framework writes its numbers ("layers.007"): kept to the same width.
std::string with_number(const std::string& name, const Pattern::Found& found, std::uint64_t value) {
  std::string digits = std::to_string(value);
  if (found.text.size() > 1 && found.text.front() == '0' && digits.size() < found.text.size())
    digits.insert(0, found.text.size() - digits.size(), '0');
  return std::string(name).replace(found.position, found.text.size(), digits);
}

std::string describe(const IndexRule& rule) {
  return "indices \"" + rule.in.text() + "\"";
}

template <class Items, class Member>
PatternIndex index_of(const std::vector<Items>& items, Member member) {
  std::vector<const Pattern*> patterns;
  patterns.reserve(items.size());
  for (const auto& item : items) patterns.push_back(&(item.*member));
  return PatternIndex(std::move(patterns));
}

}  // namespace

Naming::Naming(const Layout& layout)
    : layout_(layout),
      stored_(index_of(layout.rename, &Rename::stored)),
      names_(index_of(layout.rename, &Rename::name)),
      indices_(index_of(layout.indices, &IndexRule::in)) {
  for (const IndexRule& rule : layout.indices) blocks_.emplace_back(rule, layout.mesh.shape[rule.axis]);
  std::vector<const Pattern*> patterns;
  for (std::size_t rule = 0; rule < layout.parameters.size(); ++rule)
    for (const Pattern& pattern : layout.parameters[rule].names) {
      patterns.push_back(&pattern);
      rule_of_.push_back(rule);
    }
  rules_ = PatternIndex(std::move(patterns));
}

std::string Naming::renamed(const std::string& stored) const {
  const auto found = stored_.first(stored);
  return found ? layout_.rename[*found].name.fill(*stored_.pattern(*found).match(stored)) : stored;
}

std::string Naming::unrenamed(const std::string& name) const {
  const auto found = names_.first(name);
  std::string stored = found ? layout_.rename[*found].stored.fill(*names_.pattern(*found).match(name)) : name;
  if (const std::string back = renamed(stored); back != name)
    throw Error(Kind::layout, layout_.origin,
                {"\"" + name + "\" would be stored as \"" + stored + "\", which is read as \"" + back + "\"",
                 "rename must lead back to the same name", "reorder or narrow the rename patterns"});
  return stored;
}

/// Calls visit(number of the index rule, found) for each index rule that matches; visit may change the name's numbers,
/// which moves no other match.
template <class Visit>
void Naming::for_each_count(std::string& name, Visit&& visit) const {
  std::set<std::size_t> places;  // counted numbers, by how many digits runs stand before them
  for (auto at = indices_.first(name); at; at = indices_.first(name, *at + 1)) {
    const auto found = *indices_.pattern(*at).find(name, "i");
    std::size_t place = 0;
    for (std::size_t i = 1; i <= found.position; ++i) place += is_decimal(name[i - 1]) && !is_decimal(name[i]);
    if (!places.insert(place).second)
      throw Error(Kind::layout, layout_.origin,
                  {describe(layout_.indices[*at]) + " counts a number of \"" + name + "\" that an earlier entry counts",
                   "one entry for each number", "make the patterns exclude each other"});
    name = visit(*at, found);
  }
}

std::string Naming::counted(const std::string& name, const std::vector<std::uint64_t>& coordinates) const {
  std::string logical = name;
  for_each_count(logical, [&](std::size_t at, const Pattern::Found& found) {
    const IndexRule& rule = layout_.indices[at];
    const std::uint64_t coordinate = coordinates[rule.axis];
    const bool is_local = rule.numbering == Numbering::local;
    const std::uint64_t bound = is_local ? blocks_[at].size(coordinate) : rule.total;
    const auto index = number(found.text);
    if (!index || *index >= bound)
      throw Error(Kind::input, "",
                  {"\"" + name + "\" has the number " + found.text,
                   layout_.origin + " " + describe(rule) + " expects numbers below " + std::to_string(bound) +
                       (is_local ? " (local) at " : " (global) at ") + layout_.mesh.axes[rule.axis] + "=" +
                       std::to_string(coordinate),
                   "check total, counts and numbering"});
    return with_number(logical, found, is_local ? blocks_[at].global({coordinate, *index}) : *index);
  });
  return logical;
}

StoredName Naming::uncounted(const std::string& logical) const {
  StoredName stored{logical, {}};
  for_each_count(stored.name, [&](std::size_t at, const Pattern::Found& found) {
    const IndexRule& rule = layout_.indices[at];
    const auto index = number(found.text);
    if (!index || *index >= rule.total)
      throw Error(Kind::layout, layout_.origin,
                  {"\"" + logical + "\" has the number " + found.text,
                   describe(rule) + " counts only " + std::to_string(rule.total), "check total"});
    const auto place = blocks_[at].place(*index);
    auto& here = stored.at.try_emplace(rule.axis, 1, place.coordinate).first->second;
    if (here.empty() || here.front() != place.coordinate)
      here.clear();  // two counts put it on different coordinates of one axis
    return with_number(stored.name, found, rule.numbering == Numbering::local ? place.local : *index);
  });
  return stored;
}

std::optional<Decision> Naming::decide(const std::string& logical) const {
  std::vector<const Rule*> borrowed;  // innermost last
  Decision decision;
  std::set<std::string> seen;
  std::string name = logical;
  for (bool follow = true; follow;) {
    if (!seen.insert(name).second || seen.size() > 64)
      throw Error(
          Kind::layout, layout_.origin,
          {"\"like\" of \"" + logical + "\" leads back to \"" + name + "\"", "a rule that says how it is split", ""});
    const auto found = rules_.first(name);
    if (!found) {
      if (layout_.otherwise == Default::replicate) break;
      if (borrowed.empty()) return std::nullopt;
      throw Error(Kind::layout, layout_.origin,
                  {"\"" + logical + "\" is to be like \"" + name + "\", which no rule matches", "a rule for that name",
                   "add one, or \"default\": \"replicate\""});
    }
    const Rule& rule = layout_.parameters[rule_of_[*found]];
    if (borrowed.empty()) decision.rule = rule_of_[*found];
    borrowed.push_back(&rule);
    decision.rules.push_back(rule_of_[*found]);
    follow = rule.like.has_value();
    if (follow) name = rule.like->fill(*rules_.pattern(*found).match(name));
  }
  for (std::size_t i = borrowed.size(); i-- > 0;) decision.keys.override_with(borrowed[i]->keys);
  return decision;
}

std::optional<std::size_t> Naming::rule_of(const std::string& logical) const {
  const auto found = rules_.first(logical);
  return found ? std::optional(rule_of_[*found]) : std::nullopt;
}

std::optional<std::string> Naming::equal_of(const std::string& logical) const {
  const auto found = rules_.first(logical);
  if (!found) return std::nullopt;
  const auto& equals = layout_.parameters[rule_of_[*found]].equals;
  return equals ? std::optional(equals->fill(*rules_.pattern(*found).match(logical))) : std::nullopt;
}

}  // namespace ckpt
