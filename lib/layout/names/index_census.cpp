#include "layout/names/index_census.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

/// Returns nothing for a number of 2^64 or more, which Naming refuses with the name of its file.
std::optional<std::uint64_t> whole_number(const std::string& digits) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc{} || end != digits.data() + digits.size() || value == ~std::uint64_t{0}) return std::nullopt;
  return value;
}

/// Returns whether these are consecutive numbers starting at `first`.
bool is_run(const std::set<std::uint64_t>& numbers, std::uint64_t first) {
  return !numbers.empty() && *numbers.begin() == first && *numbers.rbegin() - first == numbers.size() - 1;
}

/// Returns "2, 5, … (7 more)".
std::string missing_below(std::uint64_t total, const std::set<std::uint64_t>& present) {
  constexpr std::size_t most = 8;
  std::vector<std::string> first;
  std::uint64_t next = 0;
  const auto add_until = [&](std::uint64_t end) {
    for (; next < end && first.size() < most; ++next) first.push_back(std::to_string(next));
  };
  for (const auto number : present) {
    add_until(number);
    next = number + 1;
    if (first.size() == most) break;
  }
  add_until(total);
  const std::uint64_t missing = total - present.size();
  std::string text = join(first, most);
  if (missing > first.size()) text += ", … (" + std::to_string(missing - first.size()) + " more)";
  return text;
}

}  // namespace

IndexCensus::IndexCensus(const Layout& layout)
    : layout_(layout), patterns_(PatternIndex::of(layout.indices, &IndexRule::in)), seen_(layout.indices.size()) {}

std::string IndexCensus::place(std::size_t entry) const {
  return layout_.origin + ": /indices/" + std::to_string(entry) + ": \"" + layout_.indices[entry].in.text() + "\"";
}

std::uint64_t IndexCensus::ways(std::size_t entry) const {
  return layout_.mesh.combinations(layout_.indices[entry].axes);
}

const std::vector<IndexCensus::IndexMatch>& IndexCensus::matched(const std::string& name) {
  static const std::vector<IndexMatch> none;
  if (seen_.empty()) return none;
  const auto [known, is_new] = known_.try_emplace(name);
  if (!is_new) return known->second;
  for (auto at = patterns_.first(name); at; at = patterns_.first(name, *at + 1)) {
    const auto number = whole_number(patterns_.pattern(*at).find(name, "i")->text);
    const auto chunk = layout_.indices[*at].restart ? whole_number(patterns_.pattern(*at).find(name, "chunk")->text)
                                                    : std::uint64_t{0};
    if (number && chunk) known->second.push_back({*at, *number, *chunk});
  }
  return known->second;
}

void IndexCensus::note_stored(const std::string& name, const std::vector<std::uint64_t>& coordinates) {
  for (const auto& [entry, number, chunk] : matched(name))
    seen_[entry].stored.insert({layout_.mesh.combination(layout_.indices[entry].axes, coordinates), number, chunk});
}

void IndexCensus::note_logical(const std::string& name) {
  for (const auto& [entry, number, chunk] : matched(name)) seen_[entry].logical.insert(number);
}

std::uint64_t IndexCensus::declared_total(std::size_t entry) const {
  const IndexRule& rule = layout_.indices[entry];
  const SeenIndices& seen = seen_[entry];
  std::uint64_t end = 0;
  for (const auto& called : seen.stored) end = std::max(end, called.number + 1);
  if (rule.numbering == Numbering::local && end != 0) {
    if (end <= rule.first)
      throw Error(Kind::layout, place(entry),
                  {"found no number above " + std::to_string(end - 1),
                   "local numbers from " + std::to_string(rule.first) + " on", "check \"first\""});
    end = checked_mul(end - rule.first, ways(entry) * (rule.restart ? rule.virtual_chunks : 1), "a total of indices");
  }
  if (!seen.logical.empty()) end = std::max(end, *seen.logical.rbegin() + 1);
  if (const std::uint64_t blocks = ways(entry) * rule.virtual_chunks; end % blocks != 0)
    throw Error(Kind::layout, place(entry),
                {"the names count " + std::to_string(end) + " indices",
                 "a multiple of " + std::to_string(blocks) + " (axis × virtual), where \"total\" is left out",
                 "give \"counts\" for uneven blocks"});
  return end;
}

std::vector<std::uint64_t> IndexCensus::totals() const {
  std::vector<std::uint64_t> totals;
  for (std::size_t entry = 0; entry < seen_.size(); ++entry) {
    const auto& said = layout_.indices[entry].total;
    totals.push_back(said ? *said : declared_total(entry));
  }
  return totals;
}

/// Returns the keys that fit the stored local numbers, or an empty text if these have gaps themselves.
std::string IndexCensus::suggest_local_fit(std::size_t entry) const {
  const IndexRule& rule = layout_.indices[entry];
  if (rule.restart) return "";
  std::vector<std::set<std::uint64_t>> numbers(ways(entry));
  for (const auto& called : seen_[entry].stored) numbers[called.coordinate].insert(called.number);
  std::uint64_t lowest = ~std::uint64_t{0};
  for (const auto& here : numbers)
    if (!here.empty()) lowest = std::min(lowest, *here.begin());
  std::vector<std::uint64_t> counts;
  for (const auto& here : numbers) {
    if (!here.empty() && !is_run(here, lowest)) return "";
    counts.push_back(here.size());
  }
  std::uint64_t total = 0;
  for (const auto count : counts) total += count;
  const std::string first = lowest == rule.first ? "" : "\"first\": " + std::to_string(lowest) + " and ";
  if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) != counts.end())
    return first + "\"counts\": " + format_list(counts) + " would fit";
  return first + "\"total\": " + std::to_string(total) + " would fit";
}

std::string IndexCensus::suggest_fit(std::size_t entry) const {
  const IndexRule& rule = layout_.indices[entry];
  const SeenIndices& seen = seen_[entry];
  if (rule.numbering == Numbering::local && !seen.stored.empty()) return suggest_local_fit(entry);
  std::set<std::uint64_t> numbers = seen.logical;
  std::vector<std::set<std::uint64_t>> by_coordinate(ways(entry));
  for (const auto& called : seen.stored) {
    numbers.insert(called.number);
    by_coordinate[called.coordinate].insert(called.number);
  }
  if (!is_run(numbers, 0)) return "";
  const bool is_alike =
      std::adjacent_find(by_coordinate.begin(), by_coordinate.end(), std::not_equal_to<>()) == by_coordinate.end();
  if (by_coordinate.size() > 1 && is_alike && !seen.stored.empty())
    return "all cards have the same numbers: is it \"numbering\": \"local\"?";
  if (numbers.size() % (ways(entry) * rule.virtual_chunks) != 0)
    return "\"counts\" that add up to " + std::to_string(numbers.size()) + " would fit";
  return "\"total\": " + std::to_string(numbers.size()) + " would fit";
}

void IndexCensus::check_no_gaps(const std::vector<std::uint64_t>& totals, Kind kind) const {
  for (std::size_t entry = 0; entry < seen_.size(); ++entry) {
    const SeenIndices& seen = seen_[entry];
    if (seen.stored.empty() && seen.logical.empty()) continue;
    const IndexBlocks blocks(layout_.indices[entry], ways(entry), totals[entry]);
    std::set<std::uint64_t> present(seen.logical.begin(), seen.logical.lower_bound(totals[entry]));
    for (const auto& called : seen.stored)
      if (const auto index = blocks.index(called)) present.insert(*index);
    if (present.size() == totals[entry]) continue;
    throw Error(kind, place(entry),
                {"no name has the index " + missing_below(totals[entry], present),
                 "each from 0 to " + std::to_string(totals[entry] - 1) + " in some name", suggest_fit(entry)});
  }
}

std::string IndexCensus::suggest_fit(const std::vector<std::uint64_t>& totals) const {
  for (std::size_t entry = 0; entry < seen_.size(); ++entry) {
    const SeenIndices& seen = seen_[entry];
    const IndexBlocks blocks(layout_.indices[entry], ways(entry), totals[entry]);
    const bool is_beyond = std::any_of(seen.stored.begin(), seen.stored.end(),
                                       [&](const auto& called) { return !blocks.index(called); }) ||
                           (!seen.logical.empty() && *seen.logical.rbegin() >= totals[entry]);
    if (const std::string fit = is_beyond ? suggest_fit(entry) : ""; !fit.empty())
      return "/indices/" + std::to_string(entry) + ": " + fit;
  }
  return "";
}

std::vector<std::string> IndexCensus::unused() const {
  std::vector<std::string> warnings;
  for (std::size_t entry = 0; entry < seen_.size(); ++entry)
    if (seen_[entry].stored.empty() && seen_[entry].logical.empty())
      warnings.push_back(place(entry) + " of indices matches no name");
  return warnings;
}

}  // namespace ckpt
