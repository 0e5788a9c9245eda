#include "inspect/below.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/shell_word.hpp"
#include "checkpoint/directory_hints.hpp"
#include "frameworks/describe.hpp"
#include "frameworks/foreign.hpp"
#include "report/render.hpp"

namespace ckpt::cli {

namespace {

/// What a shell passes over: whose directory it is.
std::string comment(const std::filesystem::path& directory) {
  if (const auto described = SelfDescribed::find(directory))
    return std::string("  # ") + described->name() + (described->is_unfinished() ? ", not finished" : "");
  if (const auto foreign = foreign_directory(directory)) return "  # " + foreign->what + ", which is not read";
  return "";
}

}  // namespace

Lines commands_below(const std::filesystem::path& directory, SourceStore& store) {
  constexpr std::size_t most = 12;
  std::vector<std::string> below = checkpoints_below(directory, store);
  std::reverse(below.begin(), below.end());  // in natural order, the last has the highest step
  Lines lines;
  for (std::size_t i = 0; i < below.size() && i < most; ++i) {
    const std::filesystem::path path = directory / below[i];
    const auto described = SelfDescribed::find(path);
    const bool is_command = !described || !described->is_unfinished();
    lines.add((is_command ? "ckpt inspect " : "# ") + shell_word(path.string()) + comment(path));
  }
  if (below.size() > most) lines.add("# and " + counted(below.size() - most, "older checkpoint"));
  return lines;
}

}  // namespace ckpt::cli
