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
void add_lone(LoneNames& names, const PatternIndex& excuses, const std::string& name) {
  bool is_excused = false;
  for (auto found = excuses.first(name); found; found = excuses.first(name, *found + 1))
    is_excused = names.is_used[*found] = true;
  if (!is_excused) names.unexcused.push_back(name);
}

/// Warns about excuses that no side needed. `what`: "missing".
void add_idle(const std::vector<Pattern>& excuses, const std::vector<const LoneNames*>& sides, const std::string& what,
              std::vector<std::string>& warnings) {
  std::vector<std::string> names;
  for (const LoneNames* side : sides) names.insert(names.end(), side->unexcused.begin(), side->unexcused.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (std::size_t i = 0; i < excuses.size(); ++i) {
    if (std::any_of(sides.begin(), sides.end(), [&](const LoneNames* side) { return side->is_used[i]; })) continue;
    const auto near = nearest(excuses[i].text(), names);
    warnings.push_back("'" + excuses[i].text() + "' excuses nothing: no name that is " + what + " matches" +
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
      for (const Kin& kin : with_state(group_names(names)))
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
  struct Kin {
    std::string first;  ///< name
    std::vector<std::string> patterns;
    std::size_t names = 0;
  };

  static std::vector<Kin> with_state(const std::vector<NameGroup>& groups) {
    std::set<std::string> all;
    for (const NameGroup& group : groups) all.insert(group.pattern);
    std::map<std::string, std::size_t> number_of;
    std::vector<Kin> result;
    for (const NameGroup& group : groups) {
      std::string own = group.pattern;  // the parameter's own, which may itself be another's state
      while (const auto affix = affix_of(own, [&](const std::string& name) { return all.contains(name); }))
        own = *affix->without(own);
      const auto [known, is_new] = number_of.try_emplace(own, result.size());
      if (is_new) result.push_back({group.names.front(), {}, 0});
      Kin& kin = result[known->second];
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
void describe_lone(std::vector<std::string> names, const std::vector<std::string>& others, const std::string& text,
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
void describe_lone(const std::vector<std::string>& common, Deviations& result) {
  std::vector<std::string> missing = result.missing.unexcused;
  std::vector<std::string> extra = result.extra.unexcused;
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
  describe_lone(missing, extra, "missing, " + result.reference + " has it", result.lines);
  describe_lone(extra, missing, "not in " + result.reference, result.lines);
}

}  // namespace

Deviations deviations(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                      const std::string& reference, const Excuses& excuses, const ShapeHint& hint) {
  Deviations result;
  result.reference = reference;
  GroupedLines unequal;
  const PatternIndex may_be_missing = PatternIndex::of(excuses.missing);
  const PatternIndex may_be_extra = PatternIndex::of(excuses.extra);
  result.missing.is_used.resize(excuses.missing.size(), false);
  result.extra.is_used.resize(excuses.extra.size(), false);
  std::vector<std::string> common;
  std::size_t f = 0;
  std::size_t e = 0;
  while (f < found.size() || e < expected.size()) {
    if (e == expected.size() || (f < found.size() && found[f].name < expected[e].name)) {
      add_lone(result.extra, may_be_extra, found[f++].name);
      continue;
    }
    if (f == found.size() || expected[e].name < found[f].name) {
      add_lone(result.missing, may_be_missing, expected[e++].name);
      continue;
    }
    const Tensor& mine = found[f];
    common.push_back(mine.name);
    const Tensor& theirs = expected[e++];
    const bool is_shape = mine.shape == theirs.shape;
    const bool is_dtype = excuses.any_dtype || is_same(mine.dtype, theirs.dtype);
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
  describe_lone(common, result);
  result.tensors += result.missing.unexcused.size() + result.extra.unexcused.size();
  return result;
}

std::string Deviations::outcome() const {
  const bool is_one = tensors == 1;
  return std::to_string(tensors) + (is_one ? " parameter is" : " parameters are") + " not as " + reference + " has " +
         (is_one ? "it" : "them");
}

std::vector<std::string> idle_excuses(const Excuses& excuses, const std::vector<const Deviations*>& all) {
  std::vector<const LoneNames*> missing;
  std::vector<const LoneNames*> extra;
  for (const Deviations* each : all) {
    missing.push_back(&each->missing);
    extra.push_back(&each->extra);
  }
  std::vector<std::string> warnings;
  add_idle(excuses.missing, missing, "missing", warnings);
  add_idle(excuses.extra, extra, "not in " + all.front()->reference, warnings);
  return warnings;
}

}  // namespace ckpt
