#include "layout/names/source_names.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "layout/names/against_files.hpp"
#include "layout/names/index_census.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/name_groups.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

namespace {

/// Returns the coordinates that affect what a stored name means: those on the axes of indices and of buckets' `at`.
std::vector<std::uint64_t> naming_coordinates(const Layout& layout, Position position) {
  std::set<Axis> axes;
  for (const IndexRule& rule : layout.indices) axes.insert(rule.axes.begin(), rule.axes.end());
  for (const Bucket& bucket : layout.buckets)
    if (bucket.at)
      for (const auto& entry : *bucket.at) axes.insert(entry.first);
  std::vector<std::uint64_t> coordinates;
  coordinates.reserve(axes.size());
  for (const Axis axis : axes) coordinates.push_back(layout.mesh.coordinate(position, axis));
  return coordinates;
}

/// Returns how messages name the files of a card: by path if it has a single one of its own.
std::string files_of(const Layout& layout, Position position) {
  if (layout.files.is_one_each(layout.mesh)) return layout.files.path(layout.mesh, position);
  return "the files of card " + std::to_string(layout.mesh.card(position));
}

bool is_at(const Layout& layout, const std::optional<At>& at, Position position) {
  return !at || std::all_of(at->begin(), at->end(), [&](const auto& entry) {
    return std::binary_search(entry.second.begin(), entry.second.end(), layout.mesh.coordinate(position, entry.first));
  });
}

/// Explains how to declare two arrays pieces of one parameter: by the only number in which their names differ.
std::string how_to_join(const Layout& layout, const std::string& a, const std::string& b, const std::string& name) {
  const auto parts = text_and_numbers(a);
  const auto others = text_and_numbers(b);
  std::optional<std::size_t> differs;
  for (std::size_t i = 0; i < parts.size() && parts.size() == others.size(); ++i) {
    if (parts[i] == others[i]) continue;
    if (differs || i % 2 == 0) return "";
    differs = i;
  }
  if (!differs || parts.size() != others.size()) return "";
  const std::vector<std::string>& axes = layout.mesh.axes;
  std::string stored;
  for (std::size_t i = 0; i < parts.size(); ++i)
    stored += i == *differs ? "{" + (axes.size() == 1 ? axes.front() : "AXIS") + "}" : literal(parts[i]);
  return "if the number says whose piece it is, write a coordinate of the card in its place: {\"stored\": \"" + stored +
         "\", \"name\": \"" + literal(name) + "\"}" + (axes.size() == 1 ? "" : ", AXIS being one of " + join(axes));
}

}  // namespace

SourceNames::SourceNames(const Layout& layout, Naming& naming, const std::vector<CardArrays>& files, const Keep& keep) {
  for (std::uint32_t b = 0; b < layout.buckets.size(); ++b) buckets_[layout.buckets[b].name].push_back(b);
  std::map<std::pair<const void*, std::vector<std::uint64_t>>, std::uint32_t> known;
  std::vector<std::unique_ptr<Draft>> drafts;
  for (Position position = 0; position < files.size(); ++position) {
    const auto [found, is_new] = known.try_emplace({files[position].get(), naming_coordinates(layout, position)},
                                                   static_cast<std::uint32_t>(drafts.size()));
    if (is_new)
      with_context(files_of(layout, position), [&] {
        drafts.push_back(std::make_unique<Draft>(draft(layout, naming, files[position], position)));
      });
    table_of_.push_back(found->second);
  }
  count(layout, naming, drafts);
  number(layout, drafts, keep);
}

/// Returns the bucket with this name on this card, if there is one.
std::optional<std::uint32_t> SourceNames::bucket_of(const Layout& layout, const std::string& name,
                                                    Position position) const {
  if (const auto found = buckets_.find(name); found != buckets_.end())
    for (const std::uint32_t b : found->second)
      if (is_at(layout, layout.buckets[b].at, position)) return b;
  return std::nullopt;
}

InternedText SourceNames::renamed_once(const Layout& layout, const Naming& naming, InternedText stored) {
  const auto [known, is_new] = renamed_.try_emplace(stored);
  if (is_new) {
    known->second = naming.renamed(stored);
    const auto [other, is_first] = stored_of_.emplace(known->second, stored);
    if (!is_first)
      throw Error(Kind::input, layout.origin + ": /rename",
                  {"\"" + other->second + "\" and \"" + stored + "\" both become \"" + known->second + "\"",
                   "a rename that is one-to-one", how_to_join(layout, other->second, stored, known->second)});
  }
  return known->second;
}

SourceNames::Draft SourceNames::draft(const Layout& layout, const Naming& naming, const CardArrays& arrays_on_card,
                                      Position position) {
  Draft draft{arrays_on_card, position, {}, {}};
  draft.renamed.reserve(arrays_on_card->size());
  for (const StoredArray& array : *arrays_on_card) {
    const InternedText name = renamed_once(layout, naming, array.name);
    const auto bucket = bucket_of(layout, name, position);
    if (bucket && array.verbatim)
      throw Error(Kind::input, "/" + array.name, {"a bucket without fixed-size elements", "a 1-D array", ""});
    draft.renamed.push_back({name, bucket});
  }
  return draft;
}

/// The totals of `indices` are known only after every name has been seen; logical names follow from them.
void SourceNames::count(const Layout& layout, Naming& naming, const std::vector<std::unique_ptr<Draft>>& drafts) {
  IndexCensus census(layout);
  for (const Bucket& bucket : layout.buckets)
    for (const BucketMember& member : bucket.members) census.note_logical(member.name);
  for (const auto& draft : drafts) {
    const auto coordinates = layout.mesh.coordinates(draft->position);
    for (const RenamedArray& renamed : draft->renamed)
      if (!renamed.bucket) census.note_stored(renamed.name, coordinates);
  }
  const auto totals = against_files([&] { return census.totals(); });
  naming.count_to(totals);
  try {
    for (const auto& draft : drafts)
      with_context(files_of(layout, draft->position), [&] { name(layout, naming, *draft); });
  } catch (Error& error) {
    error.advise(census.suggest_fit(totals));
    throw;
  }
  census.check_no_gaps(totals, Kind::input);
  warnings_ = census.unused();
}

void SourceNames::name(const Layout& layout, const Naming& naming, Draft& draft) const {
  const auto coordinates = layout.mesh.coordinates(draft.position);
  const CardArrays& arrays_on_card = draft.arrays_on_card;
  std::unordered_map<InternedText, InternedText> seen;  // logical → stored, on this card
  const auto add = [&](InternedText logical, std::size_t array) {
    const auto [other, is_first] = seen.emplace(logical, (*arrays_on_card)[array].name);
    if (!is_first)
      throw Error(Kind::input, "",
                  {"\"" + other->second + "\" and \"" + (*arrays_on_card)[array].name + "\" both become parameter '" +
                       logical + "'",
                   "one array for each, as " + layout.origin + " says", "see rename, indices and buckets"});
    draft.names.emplace_back(logical, array);
  };
  for (std::size_t i = 0; i < arrays_on_card->size(); ++i) {
    const RenamedArray& renamed = draft.renamed[i];
    if (!renamed.bucket)
      add(naming.counted(renamed.name, coordinates), i);
    else
      for (const BucketMember& member : layout.buckets[*renamed.bucket].members) add(member.name, i);
  }
}

void SourceNames::number(const Layout& layout, const std::vector<std::unique_ptr<Draft>>& drafts, const Keep& keep) {
  std::map<InternedText, Logical> by_name;
  const auto add_bucket = [&](std::uint32_t b) {
    for (std::uint32_t m = 0; m < layout.buckets[b].members.size(); ++m) {
      const std::string& name = layout.buckets[b].members[m].name;
      const auto found = stored_of_.find(layout.buckets[b].name);
      const InternedText stored = found == stored_of_.end() ? InternedText() : found->second;
      if (!by_name.emplace(name, Logical{name, stored, b, m}).second)
        throw Error(Kind::layout, layout.origin,
                    {"\"" + name + "\" is a member of two buckets", "each parameter in one", ""});
    }
  };
  for (std::uint32_t b = 0; b < layout.buckets.size(); ++b) add_bucket(b);
  for (const auto& draft : drafts)
    for (const auto& [name, array] : draft->names) {
      all_.push_back(name);
      const auto& why = (*draft->arrays_on_card)[array].refusal;
      if (why) refused_.insert(name);
      const InternedText stored = (*draft->arrays_on_card)[array].name;
      if (keep && !keep(name) && by_name.count(name) == 0) continue;
      if (why) throw Error(*why).within(layout.files.place(layout.mesh, draft->position, stored)).of_parameter(name);
      const auto [found, is_new] = by_name.emplace(name, Logical{name, stored, std::nullopt, 0});
      if (found->second.stored != stored)
        throw Error(Kind::input, "",
                    {"\"" + found->second.stored + "\" and \"" + stored + "\" both become parameter '" + name + "'",
                     "one stored name for each, as " + layout.origin + " says", "see rename, indices and buckets"});
    }
  std::sort(all_.begin(), all_.end());
  all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
  logical_.reserve(by_name.size());
  for (const auto& [name, logical] : by_name) logical_.push_back(logical);
  by_name.clear();
  for (const auto& draft : drafts) {
    Table table{draft->arrays_on_card, std::vector<std::int64_t>(logical_.size(), -1)};
    for (const auto& [name, array] : draft->names)
      if (const auto found = find(name)) table.array_of[*found] = static_cast<std::int64_t>(array);
    tables_.push_back(std::move(table));
  }
  constexpr Position nowhere = ~Position{0};
  first_.assign(logical_.size(), nowhere);
  for (Position position = 0; position < table_of_.size(); ++position)
    for (std::size_t n = 0; n < logical_.size(); ++n)
      if (first_[n] == nowhere && tables_[table_of_[position]].array_of[n] >= 0) first_[n] = position;
  for (std::size_t n = 0; n < logical_.size(); ++n)
    if (first_[n] == nowhere)
      throw Error(Kind::input, "",
                  {"no file holds bucket \"" + layout.buckets[*logical_[n].bucket].name + "\" (member '" +
                       logical_[n].name + "'), which " + layout.origin + " has",
                   "", "nearest names: " + join(nearest(layout.buckets[*logical_[n].bucket].name, all()))});
}

std::optional<std::size_t> SourceNames::find(const std::string& name) const {
  const auto found =
      std::lower_bound(logical_.begin(), logical_.end(), name,
                       [](const Logical& logical, const std::string& key) { return logical.name < key; });
  if (found == logical_.end() || found->name != name) return std::nullopt;
  return static_cast<std::size_t>(found - logical_.begin());
}

const StoredArray* SourceNames::at(std::size_t logical, Position position) const {
  const Table& table = tables_[table_of_[position]];
  const std::int64_t array = table.array_of[logical];
  return array < 0 ? nullptr : &(*table.arrays_on_card)[static_cast<std::size_t>(array)];
}

}  // namespace ckpt
