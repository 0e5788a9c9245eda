#include "output/output_format.hpp"

#include <algorithm>

namespace ckpt {

const Format& output_format(const std::vector<Format>& formats, const std::string& wanted,
                            const std::string& file_name) {
  for (const Format& format : formats)
    if (format.name == wanted) return format;
  const Format* const by_ending = format_by_ending(formats, file_name);
  return by_ending != nullptr ? *by_ending : formats.front();
}

Layout with_ending(Layout layout, const std::vector<Format>& formats, const Format& format) {
  std::vector<FileEntry> entries = layout.files.entries();
  for (FileEntry& entry : entries) {
    if (entry.path.by_card() != nullptr) continue;
    std::string text = entry.path.text();
    if (const std::size_t any = text.find('*'); any != std::string::npos) {  // a name is to be found: this is one
      text.replace(any, 1, "checkpoint_{card}");
      entry.path = FileTemplate(text, layout.mesh);
    }
    const Format* const other = format_by_ending(formats, text);
    if (other == nullptr || other == &format) continue;
    text.resize(text.rfind('.'));
    entry.path = FileTemplate(text + std::string(format.ending), layout.mesh);
  }
  layout.files = CardFiles(std::move(entries));
  return layout;
}

}  // namespace ckpt
