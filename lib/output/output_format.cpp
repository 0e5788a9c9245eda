#include "output/output_format.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "base/log.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

/// An ending that a standalone file may have.
struct Ending {
  std::string text;
  const Format* format;
};

std::vector<Ending> endings_of_files(const std::vector<Format>& formats) {
  std::vector<Ending> endings;
  for (const Format& format : formats) {
    if (!format.index_name.empty() || !format.is_written) continue;
    endings.push_back({std::string(format.ending), &format});
    for (const std::string_view other : format.other_endings) endings.push_back({std::string(other), &format});
  }
  return endings;
}

/// An ending of files that other programs read, and these programs do not write.
struct ForeignEnding {
  std::string_view text;
  std::string_view what;
};
constexpr std::array<ForeignEnding, 14> foreign_endings{{{".npz", "NumPy's"},
                                                         {".npy", "NumPy's"},
                                                         {".ggml", "llama.cpp's"},
                                                         {".onnx", "ONNX's"},
                                                         {".msgpack", "Flax's"},
                                                         {".zarr", "Zarr's"},
                                                         {".pkl", "pickle's"},
                                                         {".pb", "TensorFlow's"},
                                                         {".json", "JSON's"},
                                                         {".parquet", "Parquet's"},
                                                         {".tar", "of an archive"},
                                                         {".zip", "of an archive"},
                                                         {".gz", "of a compressed file"},
                                                         {".zst", "of a compressed file"}}};

/// Recognises misspelt endings such as ".safetensor" and ".H5": at most one letter in four differs, but at least one
/// letter may. In short endings another letter makes another word: ".ptt" means ".pt", while ".pb" and ".pt2" belong to
/// others.
bool is_meant_as(const std::string& tail, const std::string& ending) {
  const std::string lower = lower_case(tail);
  constexpr std::size_t short_bytes = 4;  // with the dot
  if (ending.size() <= short_bytes) return lower == ending || lower == ending + ending.back();
  const std::size_t most = std::max<std::size_t>(1, ending.size() / 4);
  return edit_distance(lower, ending, most) <= most;
}

std::optional<Ending> meant_ending(const std::vector<Ending>& endings, const std::string& tail) {
  const auto meant =
      std::find_if(endings.begin(), endings.end(), [&](const Ending& each) { return is_meant_as(tail, each.text); });
  return meant == endings.end() ? std::nullopt : std::optional(*meant);
}

std::string all_endings(const std::vector<Format>& formats) {
  std::vector<std::string> known;
  for (const Ending& ending : endings_of_files(formats)) known.push_back(ending.text);
  return join(known, known.size());
}

bool has_shared_ending(const Format& format, std::string_view file_name) {
  return !format.shared_ending.empty() && file_name.ends_with(format.shared_ending);
}

/// The format of single files for an ending that several formats share, if all of the source's files have one of these
/// formats. Throws usage if only some of them do.
const Format* sharing_format(const std::vector<Format>& formats, std::string_view file_name,
                             const std::set<std::string>& sources) {
  const Format* found = nullptr;
  std::size_t kin = 0;
  for (const Format& format : formats) {
    if (!has_shared_ending(format, file_name)) continue;
    if (found == nullptr && format.index_name.empty()) found = &format;
    kin += sources.count(std::string(format.name));
  }
  if (found == nullptr || kin == 0) return nullptr;
  if (kin < sources.size())
    throw Error(
        Kind::usage, std::string(file_name),
        {"its ending " + std::string(found->shared_ending) +
             " is that of several formats, and the source has files of " + join({sources.begin(), sources.end()}),
         "one that says which", "choose it with --format"});
  return found;
}

}  // namespace

void check_ending(const std::vector<Format>& formats, const std::string& file_name) {
  const std::string name = file_name.substr(file_name.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0 || format_by_ending(formats, name) != nullptr) return;
  const std::string tail = name.substr(dot);
  const bool is_word = tail.size() > 1 && std::isalpha(static_cast<unsigned char>(tail[1])) != 0;
  const std::vector<Ending> endings = endings_of_files(formats);
  const Format* meant = format_by_ending(formats, name.substr(0, dot));
  std::string lead = "--format " + (meant != nullptr ? std::string(meant->name) : "") + " writes that under any name";
  if (meant == nullptr && is_word) {
    if (const auto near = meant_ending(endings, tail)) {
      meant = near->format;
      lead = "did you mean " + near->text + "? Any other name goes with --format";
    }
  }
  if (meant == &formats.front()) return;
  std::string found = "its ending " + tail + " tells no format";
  if (const auto* const foreign =
          std::ranges::find(foreign_endings, std::string_view(lower_case(tail)), &ForeignEnding::text);
      meant == nullptr && foreign != foreign_endings.end()) {
    found = "its ending " + tail + " is " + std::string(foreign->what) + ", which is not written";
    lead = "choose another name, or a format with --format";
  } else if (meant == nullptr) {
    return;
  }
  throw Error(Kind::usage, file_name, {found, "one of " + all_endings(formats), lead});
}

void warn_of_ending(const std::vector<Format>& formats, const std::string& file_name, const Format& written,
                    bool is_chosen) {
  const std::string name = file_name.substr(file_name.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos && !is_chosen)
    return log::info("{} has no ending, and is written as {}: --format or an ending chooses another", file_name,
                     written.name);
  if (dot == std::string::npos || dot == 0 || dot + 1 == name.size()) return;
  const std::string tail = name.substr(dot);
  const Format* const by_ending = format_by_ending(formats, name);
  if (by_ending == &written || has_shared_ending(written, name)) return;
  if (by_ending != nullptr)
    return log::warn("{} is written as {}, although its ending is that of {}", file_name, written.name,
                     by_ending->name);
  if (is_chosen || std::isalpha(static_cast<unsigned char>(tail[1])) == 0) return;
  if (const auto meant = meant_ending(endings_of_files(formats), tail); meant && meant->format == &written) return;
  if (format_by_ending(formats, name.substr(0, dot)) == &written) return;
  log::warn("{} is written as {}, for its ending {} tells no format: choose one with --format, or by an ending ({})",
            file_name, written.name, tail, all_endings(formats));
}

const Format& output_format(const std::vector<Format>& formats, const std::string& wanted, const std::string& file_name,
                            const std::set<std::string>& sources) {
  for (const Format& format : formats)
    if (format.name == wanted) return format;
  if (const Format* const shared = sharing_format(formats, file_name, sources)) return *shared;
  if (const Format* const by_ending = format_by_ending(formats, file_name)) {
    if (by_ending->is_written) return *by_ending;
    throw Error(Kind::usage, file_name,
                {std::string(by_ending->name) + " files are only read", "a format that is written",
                 "choose one with --format, or by another ending: " + std::string(formats.front().ending)});
  }
  const bool is_single_file = !file_name.empty();
  for (const Format& format : formats)
    if (format.is_written && sources == std::set<std::string>{std::string(format.name)} &&
        (format.index_name.empty() || !is_single_file))
      return format;
  return formats.front();
}

Layout with_ending(Layout layout, const std::vector<Format>& formats, const Format& format, bool keeps_shared) {
  std::vector<FileEntry> entries = layout.files.entries();
  for (FileEntry& entry : entries) {
    if (entry.path.by_card() != nullptr) continue;
    std::string text = entry.path.text();
    if (const std::size_t any = text.find('*'); any != std::string::npos) {  // the name is open: make one
      text.replace(any, 1, "checkpoint_{card}");
      entry.path = FileTemplate(text, layout.mesh);
    }
    const Format* const other = format_by_ending(formats, text);
    if (other == nullptr || other == &format || (keeps_shared && has_shared_ending(format, text))) continue;
    text.resize(text.rfind('.'));
    entry.path = FileTemplate(text + std::string(format.ending), layout.mesh);
  }
  layout.files = CardFiles(std::move(entries));
  return layout;
}

}  // namespace ckpt
