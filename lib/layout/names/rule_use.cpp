#include "layout/names/rule_use.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/characters.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/name_groups.hpp"
#include "layout/names/prefix_change.hpp"
#include "layout/names/rule_name.hpp"

namespace ckpt {

namespace {

/// A glob as a sequence of symbols: characters, any one character, or any run.
struct Glob {
  enum class What { literal, one, run };
  struct Symbol {
    What what;
    char literal = 0;
  };
  std::vector<Symbol> symbols;
  std::size_t literals = 0;
};

Glob glob_of(const std::string& pattern) {
  Glob glob;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '{' || c == '[') {
      const std::size_t end = pattern.find(c == '{' ? '}' : ']', i + 2);
      glob.symbols.push_back({c == '{' ? Glob::What::run : Glob::What::one});
      if (end != std::string::npos) i = end;
    } else if (c == '*' || c == '?') {
      glob.symbols.push_back({c == '*' ? Glob::What::run : Glob::What::one});
    } else {
      glob.symbols.push_back({Glob::What::literal, c});
      ++glob.literals;
    }
  }
  return glob;
}

/// Returns how many characters must be inserted, deleted or replaced for the glob to match.
std::size_t distance(const Glob& glob, const std::string& name) {
  std::vector<std::size_t> row(name.size() + 1);  // for each prefix of the name
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const auto& [what, literal] : glob.symbols) {
    if (what == Glob::What::run) {
      for (std::size_t i = 1; i < row.size(); ++i) row[i] = std::min(row[i], row[i - 1]);
      continue;
    }
    std::size_t diagonal = row[0]++;
    for (std::size_t i = 1; i < row.size(); ++i) {
      const bool fits = what == Glob::What::one || name[i - 1] == literal;
      const std::size_t next = std::min({row[i] + 1, row[i - 1] + 1, diagonal + (fits ? 0 : 1)});
      diagonal = row[i];
      row[i] = next;
    }
  }
  return row.back();
}

/// Returns names that the pattern matches but for a typing error, one for each group that differs only in numbers.
std::vector<std::string> nearly_matched(const Pattern& pattern, const std::vector<NameGroup>& groups) {
  constexpr std::size_t most_tried = 4096;
  const Glob glob = glob_of(pattern.text());
  const std::size_t most = std::min<std::size_t>(2, glob.literals / 4);
  std::vector<std::pair<std::size_t, std::string>> close;
  for (std::size_t g = 0; most > 0 && g < groups.size() && g < most_tried; ++g)
    if (const std::size_t far = distance(glob, groups[g].names.front()); far <= most)
      close.emplace_back(far, groups[g].names.front());
  std::stable_sort(close.begin(), close.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < close.size() && i < 3; ++i) names.push_back(close[i].second);
  return names;
}

bool matches_any(const Rule& rule, const std::string& name) {
  return std::any_of(rule.names.begin(), rule.names.end(), [&](const Pattern& each) { return each.matches(name); });
}

/// Explains why a rule applies to none of the names that it matches: earlier rules do; an empty text if it matches
/// none.
std::string explain_shadowing(const Layout& layout, std::size_t rule, const std::vector<std::string>& names) {
  const Rule& own = layout.parameters[rule];
  for (const std::string& name : names) {
    if (!matches_any(own, name)) continue;
    for (std::size_t earlier = 0; earlier < rule; ++earlier)
      if (matches_any(layout.parameters[earlier], name))
        return "decides for nothing: '" + name +
               "' and all else that it matches go to rules before it, as /parameters/" + std::to_string(earlier) +
               " (\"" + patterns_of(layout.parameters[earlier]) + "\"); put it before them";
    return "decides for nothing: '" + name + "', which it matches, is a bucket's member";
  }
  return "";
}

/// Returns whether a rule matches only datasets of tables, which need no rule.
bool is_for_tables_alone(const Layout& layout, const Rule& rule, const std::vector<std::string>& names) {
  bool matches_table = false;
  for (const std::string& name : names) {
    if (!matches_any(rule, name)) continue;
    if (!layout.table_arrays.contains(name)) return false;
    matches_table = true;
  }
  return matches_table;
}

/// Returns whether a rule only lets the copies of one name differ, which may be an attribute's (check_same_step).
bool may_be_for_attribute(const Rule& rule) {
  Keys keys;
  keys.replicas = Replicas::first;
  return !rule.like && !rule.equals && rule.keys.plain() == keys &&
         std::all_of(rule.names.begin(), rule.names.end(), [](const Pattern& name) { return name.is_plain(); });
}

/// Returns the prefix with which, or without which, most names would match some rule; nothing if there is none.
std::optional<PrefixChange> prefix_of_rules(const Layout& layout, const std::vector<std::string>& names) {
  const auto is_matched = [&](const std::string& name) {
    return std::any_of(layout.parameters.begin(), layout.parameters.end(),
                       [&](const Rule& rule) { return matches_any(rule, name); });
  };
  std::vector<std::pair<std::string, bool>> tried;  // a prefix, and whether it is removed
  const auto add_prefixes = [&](const std::string& text, bool is_removed) {
    constexpr std::size_t most = 64;
    for (std::size_t i = 0; i + 1 < text.size() && tried.size() < most && !begins_pattern(text[i]); ++i)
      if (const std::pair each(text.substr(0, i + 1), is_removed);
          (text[i] == '.' || text[i] == '/') && std::find(tried.begin(), tried.end(), each) == tried.end())
        tried.push_back(each);
  };
  for (const std::string& name : names) add_prefixes(name, true);
  for (const Rule& rule : layout.parameters)
    for (const Pattern& pattern : rule.names) add_prefixes(pattern.text(), false);
  std::optional<PrefixChange> best;
  for (const auto& [prefix, is_removed] : tried) {
    PrefixChange change{prefix, is_removed, {}, is_removed ? literal(prefix) + "{x}={x}" : "{x}=" + prefix + "{x}"};
    for (const std::string& name : names) {
      if (is_removed && !name.starts_with(prefix)) continue;
      const std::string other = is_removed ? name.substr(prefix.size()) : prefix + name;
      if (is_matched(other)) change.renamed.emplace_back(name, other);
    }
    if (!change.renamed.empty() && (!best || change.renamed.size() > best->renamed.size())) best = std::move(change);
  }
  return best;
}

}  // namespace

std::string describe(const Layout& layout, const std::string& name, std::optional<std::size_t> rule) {
  const std::string otherwise = layout.table_arrays.contains(name) ? "a table" : "default";
  return "parameter '" + name + "' (" + layout.origin + ", " + (rule ? rule_name(layout, *rule) : otherwise) + ")";
}

std::string describe_member(const Layout& layout, const std::string& name, const Bucket& bucket) {
  return "parameter '" + name + "' (" + layout.origin + ", bucket \"" + bucket.name + "\")";
}

void refuse_unmatched(const Layout& layout, const std::vector<std::string>& names, Kind kind) {
  const std::string what = names.size() == 1 ? "parameter '" + names.front() + "'"
                                             : std::to_string(names.size()) + " parameters (" +
                                                   join(describe_groups(group_names(names)), 16) + ")";
  throw Error(kind, "",
              {"no rule of " + layout.origin + " matches " + what, "a rule for every parameter in the files",
               "add one, or say \"default\": \"replicate\"", leaving_out(names)});
}

void RuleUse::add(const Decision& decision) {
  for (const std::size_t rule : decision.rules) add(rule);
}

/// Returns the keys of a rule that have no effect on a bucket's member: {"replicas": "first"}, or "like".
std::string RuleUse::idle_keys(std::size_t rule) const {
  const Rule& said = layout_.parameters[rule];
  const std::string keys = to_json(said.keys, layout_.mesh);
  return keys != "{}" ? keys : said.like ? "\"like\"" : "";
}

bool RuleUse::is_idle(std::size_t rule) const {
  const bool is_of_use = used_[rule] || (of_members_[rule] && layout_.parameters[rule].equals);
  return !is_of_use && (!of_members_[rule] || !idle_keys(rule).empty());
}

void RuleUse::check_any(const std::vector<std::string>& names, Kind kind) const {
  const auto is_any = [](const std::vector<bool>& marks) {
    return std::find(marks.begin(), marks.end(), true) != marks.end();
  };
  if (used_.empty() || names.empty() || layout_.mesh.size() == 1 || is_any(used_) || is_any(of_members_)) return;
  for (const std::string& name : names)
    if (layout_.table_arrays.contains(name)) return;
  const std::string rules = used_.size() == 1 ? "its one rule (\"" + patterns_of(layout_.parameters.front()) + "\")"
                                              : "none of its " + std::to_string(used_.size()) + " rules";
  const std::string verb = used_.size() == 1 ? " matches none of " : " matches any of ";
  const auto prefix = prefix_of_rules(layout_, names);
  const std::string what = names.size() == 1 ? "the one name" : "the " + std::to_string(names.size()) + " names";
  Error error(kind, layout_.origin,
              {rules + verb + what + " (" + join(describe_groups(group_names(names)), 4) + ")",
               "rules for them, else all would be whole copies",
               prefix ? "the names have " + prefix->text() : "is it the layout of this checkpoint?"});
  if (prefix && kind == Kind::input && prefix->is_removed)
    error.advise(R"(say it in the layout: "rename": [{"stored": ")" + literal(prefix->prefix) +
                 R"({x}", "name": "{x}"}])");
  else if (prefix && !prefix->renames.empty() && kind == Kind::layout)
    error.advise("", {Advice::What::rename_all, prefix->renames});
  throw error;
}

std::vector<std::string> RuleUse::unused(const std::vector<std::string>& names) const {
  constexpr std::size_t most = 8;  // a layout for a larger model may have thousands
  std::size_t count = 0;
  for (std::size_t r = 0; r < used_.size(); ++r) count += is_idle(r) ? 1 : 0;
  if (count == 0) return {};
  const auto groups = group_names(names);
  std::vector<std::string> warnings;
  for (std::size_t r = 0; r < used_.size() && warnings.size() < most; ++r) {
    if (!is_idle(r) || is_for_tables_alone(layout_, layout_.parameters[r], names)) continue;
    const Pattern& pattern = layout_.parameters[r].names.front();
    std::string warning = layout_.origin + ": /parameters/" + std::to_string(r) + ": rule \"" +
                          patterns_of(layout_.parameters[r]) + "\" ";
    if (of_members_[r]) {
      warning += "matches only members of buckets, where its " + idle_keys(r) +
                 " does nothing: a member's keys stand in the bucket";
    } else if (const std::string taken = explain_shadowing(layout_, r, names); !taken.empty()) {
      warning += taken;
    } else {
      const auto close = nearly_matched(pattern, groups);
      if (close.empty() && may_be_for_attribute(layout_.parameters[r])) continue;
      warning += "matches no parameter" + (close.empty() ? "" : "; nearest names: " + join(close));
    }
    warnings.push_back(std::move(warning));
  }
  if (count > most)
    warnings.push_back(layout_.origin + ": " + std::to_string(count - most) + " more rules match no parameter");
  return warnings;
}

}  // namespace ckpt
