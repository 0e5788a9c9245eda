// Any bytes are a layout, or one error of the project's own type; and a layout's canonical text gives it back.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "layout/language/layout.hpp"
#include "layout/names/file_table.hpp"

namespace {

void check_round_trip(const ckpt::Layout& layout) {
  const auto text = ckpt::to_json(layout);
  std::string again;
  try {
    const auto read_back = ckpt::parse_layout(text, layout.origin);
    again = ckpt::to_json(read_back);
    if (read_back == layout && again == text) return;
  } catch (const ckpt::Error& error) {
    again = error.what();
  }
  std::fprintf(stderr, "canonical text:\n%s\nread back:\n%s\n", text.c_str(), again.c_str());
  std::abort();
}

/// What else is made from a layout alone, for a few of its cards and rules.
void use(const ckpt::Layout& layout) {
  const ckpt::FileTable table(layout);
  for (std::uint64_t position = 0; position < layout.mesh.size() && position < 4; ++position)
    for (const auto number : table.owned_by(position))
      if (table.owner(number) != position || layout.files.path(layout.mesh, position, table.entry(number)).empty())
        std::abort();
  for (const auto& rule : layout.parameters)
    for (const auto& name : rule.names) {
      try {
        const auto captures = name.match("layers.0.attn.wq/exp_avg");
        if (captures.has_value() != name.matches("layers.0.attn.wq/exp_avg")) std::abort();
        if (captures && rule.like) rule.like->fill(*captures);
      } catch (const ckpt::Error&) {  // a pattern may be too costly, by its own bound
        continue;
      }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const auto layout = ckpt::parse_layout(text, "fuzz");
    check_round_trip(layout);
    use(layout);
  } catch (const ckpt::Error&) {
    return 0;  // refused, as most inputs ought to be
  }
  return 0;
}
