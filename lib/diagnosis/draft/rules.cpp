#include "diagnosis/draft/rules.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/characters.hpp"
#include "layout/names/literal.hpp"
#include "layout/names/name_groups.hpp"
#include "layout/names/naming.hpp"

namespace ckpt::drafting {

namespace {

/// Whether a name has characters that are special in patterns, or control characters: such names are written out.
bool has_special(const std::string& name) {
  return std::any_of(name.begin(), name.end(),
                     [](char c) { return begins_pattern(c) || static_cast<unsigned char>(c) < ' '; });
}

constexpr char shield = 1;  // replaces the digit 0 of a word; has_special knows all of these

/// Replaces the digits of words ("w1") by other characters, so that they count as text.
std::vector<std::string> shielded(std::vector<std::string> names) {
  for (std::string& name : names)
    for (std::size_t at = 0; at < name.size(); ++at) {
      if (!is_digit(name[at])) continue;
      std::size_t end = at;
      while (end < name.size() && is_digit(name[end])) ++end;
      const bool stands_alone =
          (at == 0 || is_separator(name[at - 1])) && (end == name.size() || is_separator(name[end]));
      for (; at < end; ++at)
        if (!stands_alone) name[at] = static_cast<char>(name[at] - '0' + shield);
    }
  return names;
}

std::string unshielded(std::string name) {
  for (char& c : name)
    if (c >= shield && c < shield + 10) c = static_cast<char>(c - shield + '0');
  return name;
}

/// A prefix or suffix that makes other names from names.
struct Affix {
  std::string text;
  bool is_prefix = true;

  bool is_on(const std::string& name) const {
    return name.size() > text.size() && (is_prefix ? name.starts_with(text) : name.ends_with(text));
  }
  std::string base(const std::string& name) const {
    return is_prefix ? name.substr(text.size()) : name.substr(0, name.size() - text.size());
  }
  std::string pattern() const { return is_prefix ? literal(text) + "{param}" : "{param}" + literal(text); }
  friend auto operator<=>(const Affix&, const Affix&) = default;
};

class RuleWriter {
 public:
  RuleWriter(const std::vector<ParameterRule>& decided, const std::vector<std::string>& open, const Layout& layout)
      : decided_(decided), open_(open), layout_(layout) {
    for (std::size_t i = 0; i < decided.size(); ++i) {
      number_[decided[i].name] = i;
      texts_.push_back(to_json(decided[i].keys, layout.mesh));
    }
  }

  std::vector<Rule> write() {
    for (const bool is_short : {true, false}) {
      std::vector<Rule> rules = written(is_short);
      if (!is_short || says_just_that(rules)) return rules;
    }
    return {};
  }

 private:
  std::vector<Rule> written(bool is_short) {
    std::vector<Rule> rules;
    std::set<std::size_t> borrowed;
    if (is_short) {
      Rule rule;
      for (const Affix& affix : affixes()) {
        rule.names.emplace_back(affix.pattern());
        for (std::size_t i = 0; i < decided_.size(); ++i)
          if (affix.is_on(decided_[i].name)) borrowed.insert(i);
      }
      rule.like = Pattern("{param}");
      if (!rule.names.empty()) rules.push_back(std::move(rule));
    }
    std::map<std::string, std::size_t> rule_of;  // by the keys' text
    std::vector<std::vector<std::string>> names;
    for (std::size_t i = 0; i < decided_.size(); ++i) {
      if (borrowed.contains(i)) continue;
      const auto [known, is_new] = rule_of.try_emplace(texts_[i], names.size());
      if (is_new) names.emplace_back();
      names[known->second].push_back(decided_[i].name);
    }
    std::vector<Rule> by_keys(names.size());
    for (std::size_t r = 0; r < names.size(); ++r) by_keys[r] = rule(names[r], is_short);
    rules.insert(rules.end(), by_keys.begin(), by_keys.end());
    return rules;
  }

  /// The rule for names with the same keys: as patterns where these match no name of another rule.
  Rule rule(const std::vector<std::string>& names, bool is_short) const {
    Rule rule;
    const std::size_t first = number_.at(names.front());
    const std::string& text = texts_[first];
    rule.keys = decided_[first].keys;
    std::vector<std::string> plain;
    for (const std::string& name : names)
      if (!is_short || has_special(name))
        rule.names.emplace_back(literal(name));
      else
        plain.push_back(name);
    for (NameGroup& group : group_names(shielded(plain))) {
      group.pattern = unshielded(group.pattern);
      for (std::string& name : group.names) name = unshielded(name);
      Pattern pattern(group.pattern);
      if (group.names.size() == 1 || matches_others(pattern, text))
        for (const std::string& name : group.names) rule.names.emplace_back(name);
      else
        rule.names.push_back(std::move(pattern));
    }
    return rule;
  }

  bool matches_others(const Pattern& pattern, const std::string& text) const {
    for (std::size_t i = 0; i < decided_.size(); ++i)
      if (texts_[i] != text && pattern.matches(decided_[i].name)) return true;
    return std::any_of(open_.begin(), open_.end(), [&](const std::string& name) { return pattern.matches(name); });
  }

  /// Prefixes and suffixes of which every name that has one is cut like the name without it.
  std::vector<Affix> affixes() const {
    std::set<Affix> found;
    for (const ParameterRule& each : decided_)
      for (std::size_t at = each.name.find_first_of("./"); at != std::string::npos;
           at = each.name.find_first_of("./", at + 1)) {
        found.insert({each.name.substr(0, at + 1), true});
        found.insert({each.name.substr(at), false});
      }
    std::vector<Affix> good;
    for (const Affix& affix : found)
      if (!has_special(affix.text) && is_followed(affix)) good.push_back(affix);
    return good;
  }

  bool is_followed(const Affix& affix) const {
    bool is_cut = false;
    for (std::size_t i = 0; i < decided_.size(); ++i) {
      if (!affix.is_on(decided_[i].name)) continue;
      const auto base = number_.find(affix.base(decided_[i].name));
      if (base == number_.end() || texts_[base->second] != texts_[i]) return false;
      if (!(decided_[base->second].shape == decided_[i].shape)) return false;
      is_cut = is_cut || texts_[i] != whole_;
    }
    return is_cut &&
           std::none_of(open_.begin(), open_.end(), [&](const std::string& name) { return affix.is_on(name); });
  }

  bool says_just_that(const std::vector<Rule>& rules) const {
    Layout layout = layout_;
    layout.parameters = rules;
    const Naming naming(layout);
    try {
      for (std::size_t i = 0; i < decided_.size(); ++i) {
        const auto decision = naming.decide(decided_[i].name);
        if (!decision || on_this_mesh(decision->keys) != on_this_mesh(decided_[i].keys)) return false;
      }
      return std::none_of(open_.begin(), open_.end(), [&](const std::string& name) { return naming.decide(name); });
    } catch (const Error&) {
      return false;  // `like` in a circle
    }
  }

  /// On this mesh, "last" is a coordinate like others, and is compared as such.
  static Keys on_this_mesh(Keys keys) {
    keys.at_last.clear();
    return keys.plain();
  }

  const std::vector<ParameterRule>& decided_;
  const std::vector<std::string>& open_;
  const Layout& layout_;
  std::map<std::string, std::size_t> number_;
  std::vector<std::string> texts_;
  std::string whole_ = to_json(Keys{}, layout_.mesh);
};

}  // namespace

std::vector<Rule> write_rules(const std::vector<ParameterRule>& decided, const std::vector<std::string>& open,
                              const Layout& layout) {
  return RuleWriter(decided, open, layout).write();
}

}  // namespace ckpt::drafting
