#include "layout/names/affix.hpp"

#include <algorithm>
#include <vector>

namespace ckpt {

namespace {

constexpr std::size_t most_before = 4;  // words, as in "optimizer.state.0.exp_avg."
constexpr std::size_t most_behind = 2;

/// Returns where the words of a name begin, and one more beginning after its end.
std::vector<std::size_t> word_starts(const std::string& name) {
  std::vector<std::size_t> starts{0};
  for (std::size_t i = 0; i + 1 < name.size(); ++i)
    if (name[i] == '.' || name[i] == '/') starts.push_back(i + 1);
  starts.push_back(name.size() + 1);
  return starts;
}

}  // namespace

std::optional<std::string> Affix::without(const std::string& name) const {
  if (name.size() <= before.size() + behind.size() || !name.starts_with(before) || !name.ends_with(behind))
    return std::nullopt;
  return name.substr(before.size(), name.size() - before.size() - behind.size());
}

std::optional<Affix> affix_of(const std::string& name, const std::function<bool(const std::string&)>& is_name) {
  const auto starts = word_starts(name);
  const std::size_t words = starts.size() - 1;
  for (std::size_t left_out = 1; left_out < words && left_out <= most_before + most_behind; ++left_out)
    for (std::size_t behind = 0; behind <= std::min(left_out, most_behind); ++behind) {
      if (left_out - behind > most_before) continue;
      const std::size_t end = starts[words - behind] - 1;
      Affix affix{name.substr(0, starts[left_out - behind]), name.substr(std::min(end, name.size()))};
      if (is_name(*affix.without(name))) return affix;
    }
  return std::nullopt;
}

}  // namespace ckpt
