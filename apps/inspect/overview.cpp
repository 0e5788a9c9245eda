#include "inspect/overview.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "inspect/name_ranges.hpp"
#include "report/state_names.hpp"

namespace ckpt::cli {

namespace {

template <class Words>
bool is_among(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void add(OverviewShare& share, const OverviewEntry& entry) {
  ++share.tensors;
  share.bytes = checked_add(share.bytes, entry.bytes, "the parameters");
}

bool has_more_bytes(const OverviewShare& a, const OverviewShare& b) {
  return std::tie(b.bytes, b.tensors) < std::tie(a.bytes, a.tensors);
}

/// Shares by dtype, the most bytes first.
template <class Members>
std::vector<OverviewShare> dtypes_of(const std::vector<OverviewEntry>& entries, const Members& members) {
  std::map<std::string, OverviewShare> by_dtype;
  for (const std::size_t member : members) {
    OverviewShare& share = by_dtype[entries[member].dtype];
    share.name = entries[member].dtype;
    add(share, entries[member]);
  }
  std::vector<OverviewShare> shares;
  for (auto& [dtype, share] : by_dtype) shares.push_back(std::move(share));
  std::stable_sort(shares.begin(), shares.end(), has_more_bytes);
  return shares;
}

OverviewShare share_of(std::string name, const std::vector<OverviewEntry>& entries,
                       const std::vector<std::size_t>& members) {
  OverviewShare share{std::move(name), 0, 0, {}};
  for (const std::size_t member : members) add(share, entries[member]);
  for (OverviewShare& dtype : dtypes_of(entries, members)) share.dtypes.push_back(std::move(dtype.name));
  return share;
}

/// How many characters all names begin with, up to a separator.
std::size_t common_words(const std::vector<OverviewEntry>& entries) {
  const std::string& first = entries.front().name;
  std::size_t common = first.size();
  for (const auto& entry : entries) {
    const auto differ = std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(common),
                                      entry.name.begin(), entry.name.end());
    common = static_cast<std::size_t>(differ.first - first.begin());
  }
  const std::size_t end = first.substr(0, common).find_last_of("./");
  return end == std::string::npos ? 0 : end + 1;
}

/// "model.*"; of a name that has no further word, the name.
std::vector<OverviewShare> prefixes_of(const std::vector<OverviewEntry>& entries) {
  const std::size_t common = common_words(entries);
  std::map<std::string, std::vector<std::size_t>> by_prefix;
  std::vector<std::string> prefixes;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string& name = entries[i].name;
    const std::size_t end = name.find_first_of("./", common);
    std::string prefix = end == std::string::npos ? name : name.substr(0, end + 1) + "*";
    auto& members = by_prefix[prefix];
    if (members.empty()) prefixes.push_back(std::move(prefix));
    members.push_back(i);
  }
  std::vector<OverviewShare> shares;
  for (NameRange& range : name_ranges(prefixes)) {
    std::vector<std::size_t> members;
    for (const std::size_t prefix : range.members) {
      const auto& more = by_prefix[prefixes[prefix]];
      members.insert(members.end(), more.begin(), more.end());
    }
    shares.push_back(share_of(std::move(range.text), entries, members));
  }
  return shares;
}

/// Everything that a row shows of each parameter, but for its name.
using RowForm = std::array<std::string, 4>;

RowForm row_form_of(const OverviewEntry& entry) {
  return {entry.dtype, entry.shape, entry.stored, entry.rule};
}

/// A parameter, or the state of one that is alike for several words.
struct Named {
  std::string name;                ///< StateName::stem
  std::vector<std::string> words;  ///< StateName::word of each; none for a parameter
  std::vector<std::size_t> entries;
  bool is_state = false;
};

/// Those that may share a row.
std::vector<std::vector<Named>> alike_of(const std::vector<OverviewEntry>& entries,
                                         const std::vector<StateName>& states) {
  std::map<std::pair<RowForm, std::string>, Named> by_name;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Named& named = by_name[{row_form_of(entries[i]), states[i].stem}];
    named.name = states[i].stem;
    named.is_state = states[i].is_state;
    named.entries.push_back(i);
    if (!states[i].word.empty()) named.words.push_back(states[i].word);
  }
  std::map<std::tuple<RowForm, std::vector<std::string>, bool>, std::vector<Named>> alike;
  for (auto& [key, named] : by_name) alike[{key.first, named.words, named.is_state}].push_back(std::move(named));
  std::vector<std::vector<Named>> result;
  for (auto& [key, named] : alike) result.push_back(std::move(named));
  return result;
}

/// A row, with the first entry in it.
using PlacedRow = std::pair<std::size_t, OverviewRow>;

PlacedRow row_of(const NameRange& range, const std::vector<Named>& alike, const std::vector<OverviewEntry>& entries) {
  OverviewRow row;
  std::size_t first = entries.size();
  std::uint64_t bytes = 0;
  for (const std::size_t member : range.members)
    for (const std::size_t entry : alike[member].entries) {
      first = std::min(first, entry);
      ++row.tensors;
      bytes = checked_add(bytes, entries[entry].bytes, "the parameters");
    }
  row.each = entries[first];
  row.each.bytes = bytes;
  row.each.name = with_words(range.text, alike.front().words);
  row.is_state = alike.front().is_state;
  return {first, std::move(row)};
}

std::vector<OverviewRow> rows_of(const std::vector<OverviewEntry>& entries, const std::vector<StateName>& states) {
  std::vector<PlacedRow> placed;
  for (const auto& alike : alike_of(entries, states)) {
    std::vector<std::string> names;
    for (const Named& named : alike) names.push_back(named.name);
    for (const NameRange& range : name_ranges(names)) placed.push_back(row_of(range, alike, entries));
  }
  std::sort(placed.begin(), placed.end(), [](const PlacedRow& a, const PlacedRow& b) {
    return std::tie(a.second.is_state, a.first) < std::tie(b.second.is_state, b.first);
  });
  std::vector<OverviewRow> rows;
  for (auto& [first, row] : placed) rows.push_back(std::move(row));
  return rows;
}

}  // namespace

Overview overview_of(const std::vector<OverviewEntry>& entries) {
  if (entries.empty()) return {};
  std::vector<StateName> states;
  std::vector<std::size_t> all;
  std::vector<std::size_t> of_state;
  Overview overview;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    states.push_back(state_name(entries[i].name));
    all.push_back(i);
    if (!states[i].is_state) continue;
    of_state.push_back(i);
    if (!states[i].word.empty() && !is_among(overview.state_words, states[i].word))
      overview.state_words.push_back(states[i].word);
  }
  overview.dtypes = dtypes_of(entries, all);
  overview.prefixes = prefixes_of(entries);
  overview.state = share_of("", entries, of_state);
  overview.rows = rows_of(entries, states);
  return overview;
}

}  // namespace ckpt::cli
