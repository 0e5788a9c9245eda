#include "layout/maps/map_names.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/checked.hpp"
#include "base/shell_word.hpp"

namespace ckpt {

std::string without_folder(const std::string& name) {
  for (const std::string_view folder : {weights_folder, weights_key})
    if (name.starts_with(folder)) return name.substr(folder.size());
  return name;
}

std::string advice_on_prefix(const std::vector<std::string>& names,
                             const std::function<bool(const std::string& rest)>& is_known) {
  const std::string& first = names.front();
  std::string advice;  // of the longest: "module." alone may look like a state's word
  for (std::size_t end = first.find_first_of("./"); end != std::string::npos;
       end = first.find_first_of("./", end + 1)) {
    const std::string prefix = first.substr(0, end + 1);
    if (!std::ranges::all_of(names, [&](const std::string& name) { return name.starts_with(prefix); })) break;
    if (is_known(first.substr(end + 1)))
      advice = "take '" + prefix + "' away first, in a job of its own with --rename " + shell_word(prefix + "{x}={x}");
  }
  return advice;
}

std::optional<StateOfName> state_of(const Pattern& pattern, const std::string& name) {
  constexpr std::string_view last_word = "{name}.{state}";
  const std::string_view text = pattern.text();
  if (text.ends_with(last_word)) {  // names have dots, too
    const std::string_view before = text.substr(0, text.size() - last_word.size());
    const std::size_t dot = name.rfind('.');
    if (pattern.has_wildcard() || !name.starts_with(before) || dot == std::string::npos || dot <= before.size())
      return std::nullopt;
    return StateOfName{name.substr(before.size(), dot - before.size()), name.substr(dot + 1)};
  }
  const auto captures = pattern.match(name);
  if (!captures) return std::nullopt;
  return StateOfName{captures->at("name"), captures->at("state")};
}

SideNames::SideNames(const NameMap& map, const MapSizes& sizes, MapSide side, const std::vector<bool>& is_stacked)
    : map_(map), sizes_(sizes), side_(side) {
  std::set<std::string> names;
  for (const auto& [name, formulas] : map.sizes) names.insert(name);
  for (std::size_t r = 0; r < map.rules.size(); ++r) {
    first_.push_back(entries_.size());
    for (std::size_t t = 0; t < map.rules[r].tensors[side].size(); ++t) {
      TensorTemplate text = map.rules[r].tensors[side][t];
      for (std::size_t s = 0; s < map.stacks.size(); ++s) {
        const StackedNames& stack = map.stacks[s];
        if (stack.side != side || !is_stacked[s]) continue;
        if (auto stacked = text.stacked(stack.axis, stack.prefix, stack.stacked, names)) text = std::move(*stacked);
      }
      entries_.push_back({r, t, std::move(text)});
    }
  }
  index_ = PatternIndex::of(entries_, [](const Entry& entry) -> const Pattern& { return entry.text.pattern(); });
}

std::optional<AxisValues> SideNames::values(const TensorTemplate& text, const std::string& name) const {
  const auto captures = text.pattern().match(name);
  if (!captures) return std::nullopt;
  AxisValues values;
  for (std::size_t i = 0; i < text.captures().size(); ++i) {
    const NameCapture& capture = text.captures()[i];
    const std::string& found = captures->at(std::to_string(i));
    if (capture.is_text) {
      if (!values.texts.emplace(capture.axes.front(), found).second) return std::nullopt;
      continue;
    }
    std::uint64_t number = 0;
    const auto [end, status] = std::from_chars(found.data(), found.data() + found.size(), number);
    if (status != std::errc{} || end != found.data() + found.size() || std::to_string(number) != found)
      return std::nullopt;
    const std::uint64_t first = capture.first.empty() ? 0 : sizes_.size(capture.first);
    if (number < first) return std::nullopt;
    number -= first;
    for (auto axis = capture.axes.rbegin(); axis != capture.axes.rend(); ++axis) {
      const std::uint64_t size = sizes_.size(*axis);
      values.numbers[*axis] = number % size;
      number /= size;
    }
    if (number != 0) return std::nullopt;
  }
  return values;
}

std::optional<SideNames::Match> SideNames::match_plain(const std::string& name, const std::vector<bool>& skip) const {
  for (auto found = index_.first(name); found; found = index_.first(name, *found + 1)) {
    const Entry& entry = entries_[*found];
    if (skip[entry.rule]) continue;
    auto known = values(entry.text, name);
    if (!known) continue;
    std::set<std::string> axes;  // those that some name of the rule carries
    for (const auto& of_side : map_.rules[entry.rule].tensors)
      for (const TensorTemplate& text : of_side)
        for (const NameCapture& capture : text.captures()) axes.insert(capture.axes.begin(), capture.axes.end());
    if (holds(map_.rules[entry.rule].when, axes, *known, sizes_).value_or(true))
      return Match{*found, std::move(*known), std::nullopt, {}, {}};
  }
  return std::nullopt;
}

std::optional<SideNames::Match> SideNames::match(const std::string& name, const std::vector<bool>& skip) const {
  for (const std::string& in_rules : {name, without_folder(name)})
    if (auto plain = match_plain(in_rules, skip)) {
      plain->name = in_rules;
      return plain;
    }
  for (std::size_t i = 0; i < map_.states[side_].size(); ++i) {
    const auto state = state_of(map_.states[side_][i], name);
    if (!state) continue;
    auto of_weight = match_plain(state->weight, skip);
    if (!of_weight) continue;
    of_weight->state_pattern = i;
    of_weight->state = state->state;
    of_weight->name = name;
    return of_weight;
  }
  return std::nullopt;
}

std::string SideNames::name(const TensorTemplate& text, const AxisValues& values) const {
  Captures captures;
  for (std::size_t i = 0; i < text.captures().size(); ++i) {
    const NameCapture& capture = text.captures()[i];
    std::string& filled = captures[std::to_string(i)];
    if (capture.is_text) {
      filled = values.texts.at(capture.axes.front());
      continue;
    }
    std::uint64_t number = 0;
    for (const std::string& axis : capture.axes)
      number = checked_add(checked_mul(number, sizes_.size(axis)), values.numbers.at(axis));
    filled = std::to_string(checked_add(number, capture.first.empty() ? 0 : sizes_.size(capture.first)));
  }
  return text.pattern().fill(captures);
}

std::string SideNames::state_name(std::size_t state_pattern, const std::string& state, const std::string& name) const {
  return map_.states[side_][state_pattern].fill({{"state", state}, {"name", name}});
}

std::optional<bool> holds(const Formula& when, const std::set<std::string>& name_axes, const AxisValues& values,
                          const MapSizes& sizes) {
  const auto value = when.value([&](const std::string& name) -> std::optional<FormulaValue> {
    if (const auto known = values.numbers.find(name); known != values.numbers.end())
      return FormulaValue::of(static_cast<std::int64_t>(known->second));
    if (name_axes.contains(name)) return std::nullopt;
    return sizes.value(name);
  });
  return value ? std::optional(value->is_true) : std::nullopt;
}

void for_each_value(const std::vector<std::string>& axes, const MapSizes& sizes, AxisValues& values,
                    const std::function<void(const AxisValues&)>& visit) {
  const auto next =
      std::find_if(axes.begin(), axes.end(), [&](const std::string& axis) { return !values.numbers.contains(axis); });
  if (next == axes.end()) return visit(values);
  const std::uint64_t size = sizes.size(*next);
  for (std::uint64_t value = 0; value < size; ++value) {
    values.numbers[*next] = value;
    for_each_value(axes, sizes, values, visit);
  }
  values.numbers.erase(*next);
}

}  // namespace ckpt
