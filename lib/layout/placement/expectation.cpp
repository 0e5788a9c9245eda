#include "layout/placement/expectation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "layout/names/affix.hpp"
#include "layout/names/name_groups.hpp"
#include "layout/names/pattern_index.hpp"
#include "layout/names/prefix_change.hpp"

namespace ckpt {

namespace {

bool is_text(const DType& dtype) {
  return dtype.kind == ElementKind::text || dtype.kind == ElementKind::space_padded_text;
}

bool is_same(const DType& a, const DType& b) {
  if (is_text(a) && is_text(b)) return true;
  return a.kind == b.kind && a.size == b.size && (a.kind != ElementKind::other || a.name == b.name);
}

/// Records a name that only one side has, unless it is excused.
void add_unmatched(UnmatchedNames& names, const PatternIndex& allowances, const std::string& name) {
  bool is_allowed = false;
  for (auto found = allowances.first(name); found; found = allowances.first(name, *found + 1))
    is_allowed = names.is_used[*found] = true;
  if (!is_allowed) names.not_allowed.push_back(name);
}

/// Warns about excuses that no side needed. `what`: "missing".
void add_idle(const std::vector<Pattern>& allowances, const std::vector<const UnmatchedNames*>& sides,
              const std::string& what, std::vector<std::string>& warnings) {
  std::vector<std::string> names;
  for (const UnmatchedNames* side : sides)
    names.insert(names.end(), side->not_allowed.begin(), side->not_allowed.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (std::size_t i = 0; i < allowances.size(); ++i) {
    if (std::any_of(sides.begin(), sides.end(), [&](const UnmatchedNames* side) { return side->is_used[i]; })) continue;
    const auto near = nearest(allowances[i].text(), names);
    warnings.push_back("'" + allowances[i].text() + "' excuses nothing: no name that is " + what + " matches" +
                       (near.empty() ? "" : "; nearest names: " + join(near)));
  }
}

/// Groups names with their messages: names of one pattern with the same message share a line, as does their state.
class GroupedLines {
 public:
  void add(const std::string& name, const std::string& text) { names_of_[text].push_back(name); }

  std::vector<std::string> take() {
    std::vector<std::pair<std::string, std::string>> lines;  // the first name, and the line
    for (auto& [text, names] : names_of_) {
      std::sort(names.begin(), names.end(), natural_less);
      for (const ParameterGroup& kin : with_state(group_names(names)))
        lines.emplace_back(kin.first, join(kin.patterns) +
                                          (kin.names == 1 ? "" : " (" + std::to_string(kin.names) + " parameters)") +
                                          ": " + text);
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const auto& a, const auto& b) { return natural_less(a.first, b.first); });
    std::vector<std::string> result;
    for (auto& [name, line] : lines) result.push_back(std::move(line));
    return result;
  }

 private:
  /// Parameters of one pattern, with their state.
  struct ParameterGroup {
    std::string first;  ///< name
    std::vector<std::string> patterns;
    std::size_t names = 0;
  };

  static std::vector<ParameterGroup> with_state(const std::vector<NameGroup>& groups) {
    std::set<std::string> all;
    for (const NameGroup& group : groups) all.insert(group.pattern);
    std::map<std::string, std::size_t> number_of;
    std::vector<ParameterGroup> result;
    for (const NameGroup& group : groups) {
      std::string own = group.pattern;  // the parameter's own, which may itself be another's state
      while (const auto affix = affix_of(own, [&](const std::string& name) { return all.contains(name); }))
        own = *affix->without(own);
      const auto [known, is_new] = number_of.try_emplace(own, result.size());
      if (is_new) result.push_back({group.names.front(), {}, 0});
      ParameterGroup& kin = result[known->second];
      kin.patterns.insert(group.pattern == own ? kin.patterns.begin() : kin.patterns.end(), group.pattern);
      kin.names += group.names.size();
    }
    return result;
  }

  std::map<std::string, std::vector<std::string>> names_of_;
};

constexpr std::size_t most_shown_names = 3;
constexpr std::size_t most_with_nearest = 32;  // groups: searching all names for each of very many would take minutes

/// Returns whether one name may have been intended as the other: their common beginning and end are half of either.
bool is_near(const std::string& a, const std::string& b) {
  const std::string& shorter = a.size() < b.size() ? a : b;
  const std::string& longer = a.size() < b.size() ? b : a;
  const auto first = std::mismatch(shorter.begin(), shorter.end(), longer.begin()).first;
  const auto last = std::mismatch(shorter.rbegin(), shorter.rend(), longer.rbegin()).first;
  const auto alike = (first - shorter.begin()) + (last - shorter.rbegin());
  return 2 * alike >= static_cast<std::ptrdiff_t>(longer.size());
}

/// Adds a line for each pattern of names that only one side has, with the nearest names of the other side.
void describe_unmatched(std::vector<std::string> names, const std::vector<std::string>& others, const std::string& text,
                        std::vector<std::string>& lines) {
  std::sort(names.begin(), names.end(), natural_less);
  std::size_t searched = 0;
  for (const NameGroup& group : group_names(names)) {
    const std::size_t count = group.names.size();
    std::string line = count == 1 ? group.names.front() : group.pattern + " (" + std::to_string(count) + " parameters)";
    line += ": " + text;
    if (count > 1)
      line += ": " + (count <= most_shown_names ? join(group.names) : group.names.front() + " … " + group.names.back());
    if (searched++ < most_with_nearest)
      if (const auto near = nearest(group.names.front(), others, 1);
          !near.empty() && is_near(near.front(), group.names.front()))
        line += "; the nearest name is " + near.front();
    lines.push_back(std::move(line));
  }
}

std::vector<std::string> without(const std::vector<std::string>& names, const std::set<std::string>& others) {
  std::vector<std::string> left;
  for (const std::string& name : names)
    if (!others.contains(name)) left.push_back(name);
  return left;
}

/// Describes the names that only one side has. Names that differ by one common prefix share a line.
void describe_unmatched(const std::vector<std::string>& common, Deviations& result) {
  std::vector<std::string> missing = result.missing.not_allowed;
  std::vector<std::string> extra = result.extra.not_allowed;
  if (const auto change = prefix_change(extra, missing, common)) {
    std::set<std::string> renamed;
    std::set<std::string> wanted;
    for (const auto& [name, other] : change->renamed) {
      renamed.insert(name);
      wanted.insert(other);
    }
    extra = without(extra, renamed);
    missing = without(missing, wanted);
    result.lines.push_back((change->is_removed ? result.reference + " has no " : result.reference + " has ") +
                           change->text());
    result.renames = change->renames;
  }
  describe_unmatched(missing, extra, "missing, " + result.reference + " has it", result.lines);
  describe_unmatched(extra, missing, "not in " + result.reference, result.lines);
}

}  // namespace

Deviations deviations(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                      const std::string& reference, const Allowances& allowances, const ShapeHint& hint) {
  Deviations result;
  result.reference = reference;
  GroupedLines unequal;
  const PatternIndex may_be_missing = PatternIndex::of(allowances.missing);
  const PatternIndex may_be_extra = PatternIndex::of(allowances.extra);
  result.missing.is_used.resize(allowances.missing.size(), false);
  result.extra.is_used.resize(allowances.extra.size(), false);
  std::vector<std::string> common;
  std::size_t f = 0;
  std::size_t e = 0;
  while (f < found.size() || e < expected.size()) {
    if (e == expected.size() || (f < found.size() && found[f].name < expected[e].name)) {
      add_unmatched(result.extra, may_be_extra, found[f++].name);
      continue;
    }
    if (f == found.size() || expected[e].name < found[f].name) {
      add_unmatched(result.missing, may_be_missing, expected[e++].name);
      continue;
    }
    const Tensor& mine = found[f];
    common.push_back(mine.name);
    const Tensor& theirs = expected[e++];
    const bool is_shape = mine.shape == theirs.shape;
    const bool is_dtype = allowances.any_dtype || is_same(mine.dtype, theirs.dtype);
    if (!is_shape) {
      const std::string fit = hint(f, theirs.shape);
      unequal.add(mine.name, to_string(mine.shape) + ", " + reference + " has " + to_string(theirs.shape) +
                                 (fit.empty() ? "" : "; " + fit));
    }
    if (!is_dtype) unequal.add(mine.name, mine.dtype.name + ", " + reference + " has " + theirs.dtype.name);
    if (!is_shape || !is_dtype) ++result.tensors;
    ++f;
  }
  result.lines = unequal.take();
  describe_unmatched(common, result);
  result.tensors += result.missing.not_allowed.size() + result.extra.not_allowed.size();
  return result;
}

std::string Deviations::outcome() const {
  const bool is_one = tensors == 1;
  return std::to_string(tensors) + (is_one ? " parameter is" : " parameters are") + " not as " + reference + " has " +
         (is_one ? "it" : "them");
}

std::vector<std::string> unused_allowances(const Allowances& allowances, const std::vector<const Deviations*>& all) {
  std::vector<const UnmatchedNames*> missing;
  std::vector<const UnmatchedNames*> extra;
  for (const Deviations* each : all) {
    missing.push_back(&each->missing);
    extra.push_back(&each->extra);
  }
  std::vector<std::string> warnings;
  add_idle(allowances.missing, missing, "missing", warnings);
  add_idle(allowances.extra, extra, "not in " + all.front()->reference, warnings);
  return warnings;
}

}  // namespace ckpt
