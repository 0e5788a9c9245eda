#include "diagnosis/draft/renames.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "layout/names/literal.hpp"

namespace ckpt::drafting {

namespace {

/// The text before the removed components, these components, and the component behind them, if there is no text before
/// them and not all names have them: so the entry's `name` is no wider than necessary.
struct WrapperText {
  std::string before;
  std::string wrapper;
  std::string behind;
  friend auto operator<=>(const WrapperText&, const WrapperText&) = default;
};

std::size_t component_end(const std::string& name, std::size_t from) {
  const std::size_t end = name.find_first_of("./", from);
  return end == std::string::npos ? name.size() : end + 1;
}

std::vector<WrapperText> wrappings(const std::string& name, const std::set<std::string>& expected) {
  std::vector<WrapperText> found;
  for (std::size_t from = 0; from < name.size(); from = component_end(name, from))
    for (std::size_t to = component_end(name, from); to < name.size(); to = component_end(name, to))
      if (expected.contains(name.substr(0, from) + name.substr(to)))
        found.push_back({name.substr(0, from), name.substr(from, to - from),
                         from == 0 ? name.substr(to, component_end(name, to) - to) : ""});
  return found;
}

/// "{a}/{b}/{c}" for two separators.
std::string components(std::size_t separators, char separator) {
  std::string text = "{a}";
  for (std::size_t i = 1; i <= separators; ++i) text += separator + ("{" + std::string(1, char('a' + i)) + "}");
  return text;
}

/// Where HDF5's groups stand for the dots of the reference's names: an entry for each depth, the deepest first, as the
/// first that matches counts. Empty if a stored name has a dot itself, from which the way back could not tell them.
std::vector<Rename> groups_as_dots(const std::vector<std::string>& stored, const std::set<std::string>& expected) {
  constexpr std::size_t deepest = 'z' - 'a';
  std::set<std::size_t, std::greater<>> depths;
  for (const std::string& name : stored) {
    std::string dotted = name;
    std::ranges::replace(dotted, '/', '.');
    const auto separators = static_cast<std::size_t>(std::ranges::count(name, '/'));
    if (name.find('.') != std::string::npos || separators > deepest) return {};
    if (separators != 0 && !expected.contains(name) && expected.contains(dotted)) depths.insert(separators);
  }
  std::vector<Rename> renames;
  for (const std::size_t separators : depths)
    renames.push_back({Pattern(components(separators, '/')), Pattern(components(separators, '.'))});
  return renames;
}

}  // namespace

std::vector<Rename> find_renames(const std::vector<std::string>& stored, const std::vector<std::string>& expected) {
  const std::set<std::string> wanted(expected.begin(), expected.end());
  const std::set<std::string> there(stored.begin(), stored.end());
  if (auto renames = groups_as_dots(stored, wanted); !renames.empty()) return renames;
  std::map<WrapperText, std::vector<std::string>> explained;
  for (const std::string& name : stored)
    if (!wanted.contains(name))
      for (const WrapperText& wrapping : wrappings(name, wanted)) explained[wrapping].push_back(name);
  std::vector<WrapperText> best;
  for (const auto& [wrapping, names] : explained) best.push_back(wrapping);
  std::stable_sort(best.begin(), best.end(), [&](const WrapperText& a, const WrapperText& b) {
    return explained[a].size() > explained[b].size();
  });
  std::vector<Rename> renames;
  std::set<std::string> done;
  for (const WrapperText& w : best) {
    const std::string from = w.before + w.wrapper + w.behind;
    const std::string to = w.before + w.behind;
    bool is_new = false;
    bool collides = false;
    for (const std::string& name : stored) {
      if (!name.starts_with(from) || done.contains(name)) continue;
      is_new = true;
      const std::string renamed = to + name.substr(from.size());
      collides = collides || there.contains(renamed) || renamed.empty();
    }
    if (!is_new || collides) continue;
    const bool is_whole = from.empty() || (from.back() != '.' && from.back() != '/');  // a name's last component
    renames.push_back(
        {Pattern(literal(from) + (is_whole ? "" : "{x}")), Pattern(literal(to) + (is_whole ? "" : "{x}"))});
    for (const std::string& name : stored)
      if (name.starts_with(from)) done.insert(name);
  }
  return renames;
}

}  // namespace ckpt::drafting
