#include "output/output_format.hpp"

#include <algorithm>

namespace ckpt {

const Format& output_format(const std::string& wanted, const std::string& file_name) {
  for (const Format& format : formats())
    if (format.name == wanted) return format;
  const Format* const by_ending = format_by_ending(file_name);
  return by_ending != nullptr ? *by_ending : formats().front();
}

Layout with_ending(Layout layout, const Format& format) {
  std::string text = layout.files.text();
  const Format* const other = format_by_ending(text);
  if (other == nullptr || other == &format) return layout;
  text.resize(text.rfind('.'));
  layout.files = FileTemplate(text + std::string(format.ending), layout.mesh);
  return layout;
}

}  // namespace ckpt
