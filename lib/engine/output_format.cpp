#include "engine/output_format.hpp"

#include <algorithm>

namespace ckpt {

const Format& output_format(const Job& job, const Layout& target) {
  for (const Format& format : formats())
    if (format.name == job.format) return format;
  const std::string name = job.target.single_file ? job.output.string() : target.files.text();
  const Format* const by_ending = format_by_ending(name);
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
