#include "layout/names/better_pattern.hpp"

#include <algorithm>

#include "base/shell_word.hpp"
#include "base/text.hpp"

namespace ckpt {

std::string better_pattern(const Pattern& pattern, const std::vector<std::string>& names, const std::string& before) {
  for (const std::string& text : {pattern.text() + "/*", pattern.text() + ".*", "*" + pattern.text() + "*"}) {
    const Pattern wider(text);
    const auto count =
        std::count_if(names.begin(), names.end(), [&](const std::string& name) { return wider.matches(name); });
    if (count != 0) return shell_word(before + text) + " would match " + std::to_string(count);
  }
  return names.empty() ? "there are no names" : "the nearest names are " + join(nearest(pattern.text(), names));
}

}  // namespace ckpt
