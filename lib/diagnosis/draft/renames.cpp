#include "diagnosis/draft/renames.hpp"

#include <algorithm>
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

}  // namespace

std::vector<Rename> find_renames(const std::vector<std::string>& stored, const std::vector<std::string>& expected) {
  const std::set<std::string> wanted(expected.begin(), expected.end());
  const std::set<std::string> there(stored.begin(), stored.end());
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
