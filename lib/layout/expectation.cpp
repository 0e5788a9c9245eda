#include "layout/expectation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "layout/name_groups.hpp"
#include "layout/pattern_index.hpp"

namespace ckpt {

namespace {

bool is_text(const DType& dtype) {
  return dtype.kind == ElementKind::text || dtype.kind == ElementKind::space_padded_text;
}

bool is_same(const DType& a, const DType& b) {
  if (is_text(a) && is_text(b)) return true;
  return a.kind == b.kind && a.size == b.size && (a.kind != ElementKind::other || a.name == b.name);
}

PatternIndex excuse_index(const std::vector<Pattern>& patterns) {
  std::vector<const Pattern*> all;
  for (const Pattern& pattern : patterns) all.push_back(&pattern);
  return PatternIndex(std::move(all));
}

/// The names that are told of, the others being excused; which excuses were of use.
class Unexcused {
 public:
  explicit Unexcused(const std::vector<Pattern>& excuses)
      : index_(excuse_index(excuses)), is_used_(excuses.size(), false) {}

  void add(const std::string& name) {
    bool is_excused = false;
    for (auto found = index_.first(name); found; found = index_.first(name, *found + 1))
      is_excused = is_used_[*found] = true;
    (is_excused ? excused_ : names).push_back(name);
  }

  /// `what`: "missing".
  void warn(const std::string& what, std::vector<std::string>& warnings) const {
    for (std::size_t i = 0; i < is_used_.size(); ++i) {
      if (is_used_[i]) continue;
      const auto near = nearest(index_.pattern(i).text(), names);
      warnings.push_back("'" + index_.pattern(i).text() + "' excuses nothing: no name that is " + what + " matches" +
                         (near.empty() ? "" : "; nearest names: " + join(near)));
    }
  }

  std::vector<std::string> names;

 private:
  PatternIndex index_;
  std::vector<bool> is_used_;
  std::vector<std::string> excused_;
};

/// Names with what is said of each: one line for those of one pattern of which the same is said.
class GroupedLines {
 public:
  void add(const std::string& name, const std::string& text) { names_of_[text].push_back(name); }

  std::vector<std::string> take() {
    std::vector<std::pair<std::string, std::string>> lines;  // the first name, and the line
    for (auto& [text, names] : names_of_) {
      std::sort(names.begin(), names.end(), natural_less);
      for (const NameGroup& group : group_names(names)) {
        const std::size_t count = group.names.size();
        lines.emplace_back(
            group.names.front(),
            (count == 1 ? group.names.front() : group.pattern + " (" + std::to_string(count) + " parameters)") + ": " +
                text);
      }
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const auto& a, const auto& b) { return natural_less(a.first, b.first); });
    std::vector<std::string> result;
    for (auto& [name, line] : lines) result.push_back(std::move(line));
    return result;
  }

 private:
  std::map<std::string, std::vector<std::string>> names_of_;
};

constexpr std::size_t most_shown_names = 3;
constexpr std::size_t most_with_nearest = 32;  // groups: a search in all names for each of very many would take minutes

/// Whether one name may have been meant for the other: what they begin and end with alike is half of either.
bool is_near(const std::string& a, const std::string& b) {
  const std::string& shorter = a.size() < b.size() ? a : b;
  const std::string& longer = a.size() < b.size() ? b : a;
  const auto first = std::mismatch(shorter.begin(), shorter.end(), longer.begin()).first;
  const auto last = std::mismatch(shorter.rbegin(), shorter.rend(), longer.rbegin()).first;
  const auto alike = (first - shorter.begin()) + (last - shorter.rbegin());
  return 2 * alike >= static_cast<std::ptrdiff_t>(longer.size());
}

/// A line for each pattern of names that one side alone has, with the nearest of the other side's.
void add_lone(std::vector<std::string> names, const std::vector<std::string>& others, const std::string& text,
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

}  // namespace

Deviations deviations(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                      const std::string& reference, const Excuses& excuses, const ShapeHint& hint) {
  Deviations result;
  result.reference = reference;
  GroupedLines unequal;
  Unexcused missing(excuses.missing);
  Unexcused extra(excuses.extra);
  std::size_t f = 0;
  std::size_t e = 0;
  while (f < found.size() || e < expected.size()) {
    if (e == expected.size() || (f < found.size() && found[f].name < expected[e].name)) {
      extra.add(found[f++].name);
      continue;
    }
    if (f == found.size() || expected[e].name < found[f].name) {
      missing.add(expected[e++].name);
      continue;
    }
    const Tensor& mine = found[f];
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
  add_lone(missing.names, extra.names, "missing, " + reference + " has it", result.lines);
  add_lone(extra.names, missing.names, "not in " + reference, result.lines);
  result.tensors += missing.names.size() + extra.names.size();
  missing.warn("missing", result.warnings);
  extra.warn("not in " + reference, result.warnings);
  return result;
}

}  // namespace ckpt
