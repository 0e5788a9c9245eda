#include "diagnosis/draft/counters.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "diagnosis/draft/cut_candidates.hpp"
#include "layout/names/characters.hpp"
#include "layout/names/index_blocks.hpp"
#include "layout/names/literal.hpp"

namespace ckpt::drafting {

namespace {

/// A number in a name.
struct NumberInName {
  std::string before;  ///< everything before it
  std::string form;    ///< `before` with other numbers as '#'
  std::string word;    ///< last component of `before`, "layers." or "layer_"
  std::string after;   ///< the character after it, or nothing
  std::uint64_t number = 0;
};

std::string word_before(const std::string& before) {
  if (before.empty()) return "";
  const bool is_component = before.back() == '.' || before.back() == '/';
  const std::size_t end = before.size() - (is_component ? 1 : 0);
  const std::size_t separator = end == 0 ? std::string::npos : before.find_last_of("./", end - 1);
  return before.substr(separator == std::string::npos ? 0 : separator + 1);
}

std::vector<NumberInName> numbers_in(const std::string& name) {
  std::vector<NumberInName> found;
  std::string form;
  for (std::size_t at = 0; at < name.size();) {
    if (!is_digit(name[at])) {
      form += name[at++];
      continue;
    }
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    NumberInName number{name.substr(0, at), form, "", end < name.size() ? name.substr(end, 1) : "", 0};
    number.word = word_before(number.before);
    const auto [last, error] = std::from_chars(name.data() + at, name.data() + end, number.number);
    const bool stands_alone = at > 0 && is_separator(name[at - 1]) && (end == name.size() || is_separator(name[end]));
    const bool is_padded = end - at > 1 && name[at] == '0';
    if (error == std::errc{} && last == name.data() + end && stands_alone && !is_padded) found.push_back(number);
    form += '#';
    at = end;
  }
  return found;
}

/// Names that have one form up to the number.
struct NumberedNames {
  std::string word;
  std::string after;
  std::set<std::string> befores;
  std::vector<std::set<std::uint64_t>> found;
  std::set<std::uint64_t> expected;
  std::vector<std::string> names;
};

std::string common_end(const std::set<std::string>& texts) {
  std::string end = *texts.begin();
  for (const std::string& text : texts) {
    std::size_t same = 0;
    while (same < end.size() && same < text.size() && end[end.size() - 1 - same] == text[text.size() - 1 - same])
      ++same;
    end.erase(0, end.size() - same);
  }
  return end;
}

std::string pattern_of(const NumberedNames& gathered) {
  std::string text;
  if (gathered.befores.size() == 1)
    text = literal(*gathered.befores.begin());
  else
    text = "*" + literal(common_end(gathered.befores));
  text += "{i}";
  if (!gathered.after.empty()) text += gathered.after + "*";
  return text;
}

/// The numbers found at each combination of coordinates; nothing if cards that agree on these axes have different ones.
std::optional<std::vector<std::set<std::uint64_t>>> by_coordinate(const Counter& counter, const Mesh& mesh,
                                                                  const std::vector<Axis>& axes) {
  std::vector<std::set<std::uint64_t>> numbers(mesh.combinations(axes));
  std::vector<bool> is_seen(numbers.size(), false);
  for (Position position = 0; position < counter.found.size(); ++position) {
    const std::uint64_t at = mesh.combination_at(axes, position);
    if (is_seen[at] && numbers[at] != counter.found[position]) return std::nullopt;
    is_seen[at] = true;
    numbers[at] = counter.found[position];
  }
  return numbers;
}

/// Whether the library's blocks give the indices exactly the numbers that were found.
bool explains(const IndexRule& rule, const std::vector<std::set<std::uint64_t>>& numbers, std::uint64_t total) {
  std::vector<std::set<std::uint64_t>> called(numbers.size());
  const IndexBlocks blocks(rule, numbers.size(), total);
  for (std::uint64_t index = 0; index < total; ++index) {
    const IndexBlocks::StoredNumbers name = blocks.called(index);
    called[name.coordinate].insert(name.number);
  }
  return called == numbers;
}

void add_rules(const Counter& counter, const std::vector<Axis>& axes,
               const std::vector<std::set<std::uint64_t>>& numbers, std::uint64_t total, Numbering numbering,
               std::vector<IndexRule>& rules) {
  IndexRule rule;
  rule.in = Pattern(counter.in, {"i"});
  rule.axes = axes;
  rule.total = total;
  rule.numbering = numbering;
  if (numbering == Numbering::local) rule.first = *numbers.front().begin();
  bool is_even = true;
  std::uint64_t sum = 0;
  for (const auto& here : numbers) {
    is_even = is_even && here.size() == numbers.front().size();
    sum += here.size();
  }
  if (sum != total) return;
  if (!is_even) {
    for (const auto& here : numbers) rule.counts.push_back(here.size());
    if (explains(rule, numbers, total)) rules.push_back(rule);
    return;
  }
  for (std::uint64_t chunks = 1; chunks <= numbers.front().size(); ++chunks) {
    if (numbers.front().size() % chunks != 0) continue;
    rule.virtual_chunks = chunks;
    if (!explains(rule, numbers, total)) continue;
    rules.push_back(rule);
    if (numbering == Numbering::global) return;  // the numbers themselves prove it
  }
}

/// Single axes, then pairs in either order.
std::vector<std::vector<Axis>> lists_of_axes(const Mesh& mesh) {
  std::vector<std::vector<Axis>> lists;
  for (auto axes : sets_of_axes(mesh)) {
    if (axes.empty() || axes.size() > 2) continue;
    lists.push_back(axes);
    if (axes.size() == 2) lists.push_back({axes[1], axes[0]});
  }
  return lists;
}

}  // namespace

bool counts_from_zero(const std::set<std::uint64_t>& numbers) {
  return !numbers.empty() && *numbers.begin() == 0 && *numbers.rbegin() == numbers.size() - 1;
}

std::vector<Counter> counters(const std::vector<NameFacts>& facts, const std::vector<std::string>& expected) {
  std::map<std::pair<std::string, std::string>, NumberedNames> by_form;  // by form and the character after it
  for (const NameFacts& name : facts)
    for (const NumberInName& number : numbers_in(name.name)) {
      NumberedNames& gathered = by_form[{number.form, number.after}];
      gathered.word = number.word;
      gathered.after = number.after;
      gathered.befores.insert(number.before);
      gathered.names.push_back(name.name);
      gathered.found.resize(name.pieces.size());
      for (Position position = 0; position < name.pieces.size(); ++position)
        if (name.pieces[position].array != nullptr) gathered.found[position].insert(number.number);
    }
  for (const std::string& name : expected)
    for (const NumberInName& number : numbers_in(name))
      if (const auto known = by_form.find({number.form, number.after}); known != by_form.end())
        known->second.expected.insert(number.number);

  std::vector<NumberedNames> all;
  for (auto& [form, gathered] : by_form) all.push_back(std::move(gathered));
  std::stable_partition(all.begin(), all.end(), [](const NumberedNames& g) { return !g.expected.empty(); });
  std::vector<NumberedNames> merged;
  for (NumberedNames& gathered : all) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const NumberedNames& other) {
      return other.word == gathered.word && other.after == gathered.after && other.found == gathered.found &&
             (gathered.expected.empty() || other.expected == gathered.expected);
    });
    if (same == merged.end()) {
      merged.push_back(std::move(gathered));
      continue;
    }
    same->befores.insert(gathered.befores.begin(), gathered.befores.end());
    same->names.insert(same->names.end(), gathered.names.begin(), gathered.names.end());
  }
  std::vector<Counter> result;
  for (NumberedNames& gathered : merged) {
    std::sort(gathered.names.begin(), gathered.names.end());
    result.push_back(
        {pattern_of(gathered), std::move(gathered.found), std::move(gathered.expected), std::move(gathered.names)});
  }
  return result;
}

std::vector<IndexRule> index_candidates(const Counter& counter, const Mesh& mesh) {
  std::set<std::uint64_t> all;
  for (const auto& numbers : counter.found) all.insert(numbers.begin(), numbers.end());
  const bool is_everywhere =
      std::all_of(counter.found.begin(), counter.found.end(), [&](const auto& numbers) { return numbers == all; });
  const bool is_global = counter.expected.empty() || counter.expected == all;
  std::vector<IndexRule> rules;
  if ((is_global && is_everywhere) || !counts_from_zero(is_global ? all : counter.expected)) return rules;
  const std::uint64_t total = is_global ? all.size() : counter.expected.size();
  for (const auto& axes : lists_of_axes(mesh)) {
    const auto numbers = by_coordinate(counter, mesh, axes);
    if (!numbers || std::any_of(numbers->begin(), numbers->end(), [](const auto& here) { return here.empty(); }))
      continue;
    add_rules(counter, axes, *numbers, total, is_global ? Numbering::global : Numbering::local, rules);
    if (is_global && !rules.empty()) return rules;
  }
  return rules;
}

}  // namespace ckpt::drafting
