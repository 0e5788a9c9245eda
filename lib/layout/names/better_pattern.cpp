#include "layout/names/better_pattern.hpp"

#include <algorithm>

#include "base/shell_word.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

/// Whether a part of "a.*,b.*" would match: users of other programs join their patterns.
bool is_list(const std::string& text, const std::vector<std::string>& names) {
  if (text.find(',') == std::string::npos) return false;
  for (std::size_t at = 0, end = 0; end != text.size(); at = end + 1) {
    end = std::min(text.find(',', at), text.size());
    const Pattern part(text.substr(at, end - at));
    if (std::ranges::any_of(names, [&](const std::string& name) { return part.matches(name); })) return true;
  }
  return false;
}

}  // namespace

std::string better_pattern(const Pattern& pattern, const std::vector<std::string>& names, const std::string& before) {
  if (is_list(pattern.text(), names)) return "give the option once for each pattern";
  for (const std::string& text : {pattern.text() + "/*", pattern.text() + ".*", "*" + pattern.text() + "*"}) {
    const Pattern wider(text);
    const auto count =
        std::count_if(names.begin(), names.end(), [&](const std::string& name) { return wider.matches(name); });
    if (count != 0) return shell_word(before + text) + " would match " + std::to_string(count);
  }
  return names.empty() ? "there are no names" : "the nearest names are " + join(nearest(pattern.text(), names));
}

}  // namespace ckpt
