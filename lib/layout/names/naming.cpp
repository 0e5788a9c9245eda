#include "layout/names/naming.hpp"

#include <charconv>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/names/characters.hpp"

namespace ckpt {

namespace {

std::optional<std::uint64_t> number(const std::string& digits) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// Leading zeros are part of a framework's names ("layers.007"): keeps the width.
std::string with_number(const std::string& name, const Pattern::CaptureMatch& found, std::uint64_t value) {
  std::string digits = std::to_string(value);
  if (found.text.size() > 1 && found.text.front() == '0' && digits.size() < found.text.size())
    digits.insert(0, found.text.size() - digits.size(), '0');
  return std::string(name).replace(found.position, found.text.size(), digits);
}

std::string describe(const IndexRule& rule) {
  return "indices \"" + rule.in.text() + "\"";
}

}  // namespace

Naming::Naming(const Layout& layout)
    : layout_(layout),
      stored_(PatternIndex::of(layout.rename, &Rename::stored)),
      names_(PatternIndex::of(layout.rename, &Rename::name)),
      indices_(PatternIndex::of(layout.indices, &IndexRule::in)) {
  std::vector<std::uint64_t> totals;
  for (const IndexRule& rule : layout.indices) totals.push_back(rule.total.value_or(0));
  count_to(totals);
  std::vector<const Pattern*> patterns;
  for (std::size_t rule = 0; rule < layout.parameters.size(); ++rule)
    for (const Pattern& pattern : layout.parameters[rule].names) {
      patterns.push_back(&pattern);
      rule_of_.push_back(rule);
    }
  rules_ = PatternIndex(std::move(patterns));
}

void Naming::count_to(const std::vector<std::uint64_t>& totals) {
  blocks_.clear();
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const IndexRule& rule = layout_.indices[i];
    blocks_.emplace_back(rule, layout_.mesh.combinations(rule.axes), totals[i]);
  }
}

/// Removes a card's own group within a file (CardNames).
std::string Naming::without_group(const std::string& stored) const {
  for (const FileEntry& entry : layout_.files.entries())
    if (!entry.group.empty() && stored.starts_with(entry.group)) return stored.substr(entry.group.size());
  return stored;
}

std::string Naming::renamed(const std::string& whole) const {
  const std::string stored = without_group(whole);
  const auto found = stored_.first(stored);
  return found ? layout_.rename[*found].name.fill(*stored_.pattern(*found).match(stored)) : stored;
}

std::string Naming::unrenamed(const std::string& name) const {
  const auto found = names_.first(name);
  std::string stored = found ? layout_.rename[*found].stored.fill(*names_.pattern(*found).match(name)) : name;
  if (const std::string back = renamed(stored); back != name)
    throw Error(Kind::layout, layout_.origin,
                {"\"" + name + "\" would be stored as \"" + stored + "\", which is read as \"" + back + "\"",
                 "a rename that leads back to the same name", "reorder or narrow the rename patterns"});
  return stored;
}

/// Calls visit(number of the index rule, the counted part of the name) for each index rule that matches; `visit` may
/// change the name's numbers, which does not move other matches.
template <class Visit>
void Naming::for_each_count(std::string& name, Visit&& visit) const {
  std::set<std::size_t> places;  // counted numbers, by how many runs of digits precede them
  for (auto at = indices_.first(name); at; at = indices_.first(name, *at + 1)) {
    IndexNumbers counted{*indices_.pattern(*at).find(name, "i"), {}};
    if (layout_.indices[*at].restart) counted.chunk = indices_.pattern(*at).find(name, "chunk");
    const auto take = [&](const Pattern::CaptureMatch& found) {
      std::size_t place = 0;
      for (std::size_t i = 1; i <= found.position; ++i) place += is_digit(name[i - 1]) && !is_digit(name[i]);
      return places.insert(place).second;
    };
    if (!take(counted.index) || (counted.chunk && !take(*counted.chunk)))
      throw Error(Kind::layout, layout_.origin,
                  {describe(layout_.indices[*at]) + " counts a number of \"" + name + "\" that an earlier entry counts",
                   "one entry for each number", "make the patterns exclude each other"});
    name = visit(*at, counted);
  }
}

/// Returns the name with the numbers that an entry counts replaced.
std::string Naming::with_numbers(const std::string& name, const IndexNumbers& counted, std::uint64_t index,
                                 std::uint64_t chunk) {
  if (!counted.chunk) return with_number(name, counted.index, index);
  if (counted.chunk->position > counted.index.position)
    return with_number(with_number(name, *counted.chunk, chunk), counted.index, index);
  return with_number(with_number(name, counted.index, index), *counted.chunk, chunk);
}

std::string Naming::counted(const std::string& name, const std::vector<std::uint64_t>& coordinates) const {
  std::string logical = name;
  for_each_count(logical, [&](std::size_t at, const IndexNumbers& found) {
    const IndexRule& rule = layout_.indices[at];
    const std::uint64_t coordinate = layout_.mesh.combination(rule.axes, coordinates);
    const auto index = number(found.index.text);
    const auto chunk = found.chunk ? number(found.chunk->text) : std::uint64_t{0};
    if (chunk && *chunk >= rule.virtual_chunks)
      throw Error(Kind::input, "",
                  {"\"" + name + "\" has the chunk " + found.chunk->text,
                   "chunks below " + std::to_string(rule.virtual_chunks) + ", as " + layout_.origin + " " +
                       describe(rule) + " says",
                   "check virtual"});
    const auto global = index && chunk ? blocks_[at].index({coordinate, *index, *chunk}) : std::nullopt;
    if (!global) {
      const std::string range = (rule.first == 0 ? "" : "from " + std::to_string(rule.first) + " and ") + "below " +
                                std::to_string(blocks_[at].end(coordinate));
      throw Error(Kind::input, "",
                  {"\"" + name + "\" has the number " + found.index.text,
                   "numbers " + range + (rule.numbering == Numbering::local ? " (local) at " : " (global) at ") +
                       describe_place(rule, coordinates) + ", as " + layout_.origin + " " + describe(rule) + " says",
                   "check total, counts and numbering"});
    }
    return with_numbers(logical, found, *global, 0);
  });
  return logical;
}

/// Returns "pp=1", or "ep=0, etp=1".
std::string Naming::describe_place(const IndexRule& rule, const std::vector<std::uint64_t>& coordinates) const {
  std::vector<std::string> words;
  for (const Axis axis : rule.axes) words.push_back(layout_.mesh.axes[axis] + "=" + std::to_string(coordinates[axis]));
  return join(words);
}

StoredName Naming::uncounted(const std::string& logical) const {
  StoredName stored{logical, {}};
  for_each_count(stored.name, [&](std::size_t at, const IndexNumbers& found) {
    const IndexRule& rule = layout_.indices[at];
    const auto index = number(found.index.text);
    if (!index || *index >= blocks_[at].total())
      throw Error(
          Kind::layout, layout_.origin,
          {"\"" + logical + "\" has the number " + found.index.text,
           "one of " + describe(rule) + ", which counts only " + std::to_string(blocks_[at].total()), "check total"});
    if (found.chunk && number(found.chunk->text) != std::uint64_t{0})
      throw Error(Kind::layout, layout_.origin,
                  {"\"" + logical + "\" has the chunk " + found.chunk->text,
                   "0, for {i} of " + describe(rule) + " counts over all chunks",
                   "see rename",
                   {Advice::What::rename, ""}});
    const auto called = blocks_[at].called(*index);
    const std::uint64_t position = layout_.mesh.position_of_combination(rule.axes, called.coordinate);
    for (const Axis axis : rule.axes) {
      const std::uint64_t coordinate = layout_.mesh.coordinate(position, axis);
      auto& here = stored.at.try_emplace(axis, 1, coordinate).first->second;
      if (here.empty() || here.front() != coordinate)
        here.clear();  // two entries put it on different coordinates of one axis
    }
    return with_numbers(stored.name, found, called.number, called.chunk);
  });
  return stored;
}

std::optional<Decision> Naming::decide(const std::string& logical) const {
  if (const auto table = layout_.table_arrays.find(logical); table != layout_.table_arrays.end())
    return Decision{table->second, std::nullopt, {}, {}};
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
      if (layout_.default_rule == Default::replicate) break;
      if (borrowed.empty()) return std::nullopt;
      throw Error(Kind::layout, layout_.origin,
                  {"\"" + logical + "\" is to be like \"" + name + "\", which no rule matches", "a rule for that name",
                   "add one, or \"default\": \"replicate\""});
    }
    const Rule& rule = layout_.parameters[rule_of_[*found]];
    if (borrowed.empty()) decision.rule = rule_of_[*found];
    decision.rules.push_back(rule_of_[*found]);
    borrowed.push_back(&rule);
    follow = rule.like.has_value();
    if (follow) {
      name = rule.like->fill(*rules_.pattern(*found).match(name));
      decision.likes.push_back(name);
    }
  }
  for (std::size_t i = borrowed.size(); i-- > 0;) decision.keys.override_with(borrowed[i]->keys);
  return decision;
}

std::optional<std::size_t> Naming::rule_of(const std::string& logical) const {
  if (layout_.table_arrays.contains(logical)) return std::nullopt;
  const auto found = rules_.first(logical);
  return found ? std::optional(rule_of_[*found]) : std::nullopt;
}

std::optional<std::string> Naming::equal_of(const std::string& logical) const {
  if (layout_.table_arrays.contains(logical)) return std::nullopt;
  const auto found = rules_.first(logical);
  if (!found) return std::nullopt;
  const auto& equals = layout_.parameters[rule_of_[*found]].equals;
  return equals ? std::optional(equals->fill(*rules_.pattern(*found).match(logical))) : std::nullopt;
}

}  // namespace ckpt
