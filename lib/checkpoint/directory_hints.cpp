#include "checkpoint/directory_hints.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <regex>
#include <system_error>

#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "checkpoint/indexed_files.hpp"
#include "checkpoint/whole_file_check.hpp"
#include "frameworks/describe.hpp"
#include "frameworks/foreign.hpp"
#include "frameworks/only_word.hpp"
#include "frameworks/tensorflow.hpp"
#include "layout/names/file_template.hpp"
#include "layout/names/name_groups.hpp"
#include "store/likely_content.hpp"
#include "store/stores.hpp"
#include "store/tensorflow/bundle.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

bool is_plain_file(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

bool is_folder(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}

bool holds_tensors(const fs::path& file, SourceStore& store) {
  try {
    return is_plain_file(file) && store.recognises(file);
  } catch (const Error&) {
    return false;  // it cannot be read
  }
}

/// Whether a directory says what it holds, which no rank's own does.
bool says_what_it_is(const fs::path& directory) {
  std::error_code none;
  if (fs::exists(directory / manifest_name, none) || SelfDescribed::find(directory) || foreign_directory(directory))
    return true;
  const std::vector<fs::path> entries = sorted_entries(directory);
  return std::any_of(entries.begin(), entries.end(), is_index);
}

bool is_by_itself(const fs::path& directory, SourceStore& store) {
  if (says_what_it_is(directory)) return true;
  const std::vector<fs::path> entries = sorted_entries(directory);
  return std::any_of(entries.begin(), entries.end(),
                     [&](const fs::path& entry) { return holds_tensors(entry, store); });
}

/// 0, 1, 2, or 00, 01, 02: as steps never are.
bool count_from_zero(const std::vector<std::string>& names) {
  std::set<std::uint64_t> numbers;
  for (const std::string& name : names) {
    std::uint64_t number = 0;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) return false;
    numbers.insert(number);
  }
  return names.size() > 1 && numbers.size() == names.size() && *numbers.rbegin() == names.size() - 1;
}

/// The path in a pointer's text, relative to its directory; empty where there is none.
std::string named_by_word(const fs::path& pointer) {
  const std::string word = only_word(pointer);
  return fs::path(word).filename() == word && word != "." && word != ".." ? word : "";
}

std::string named_by_iteration(const fs::path& pointer) {
  constexpr std::size_t digits = 7;
  std::string word = named_by_word(pointer);
  const bool is_number =
      !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); });
  if (!is_number) return word;  // "release" is a folder of that name
  if (word.size() < digits) word.insert(0, digits - word.size(), '0');
  return "iter_" + word;
}

/// There is a file with an ending more.
std::string named_by_tensorflow(const fs::path& pointer) {
  const std::string prefix = newest_tensorflow_prefix(pointer);
  return prefix.empty() ? "" : prefix + ".index";
}

constexpr int most_levels_below = 3;

/// `latest` is mostly a link to a folder beside it, which counts under its own name.
bool is_link_to_sibling(const fs::path& entry) {
  std::error_code none;
  return fs::is_symlink(entry, none) &&
         fs::equivalent(fs::weakly_canonical(entry, none).parent_path(), entry.parent_path(), none);
}

/// huggingface_hub keeps the files of all snapshots here, under the sums of their bytes.
bool is_cache_of_blobs(const fs::path& folder) {
  return folder.filename() == "blobs" && is_folder(folder.parent_path() / "snapshots");
}

/// Those of ranks are one checkpoint, which the directory above them is.
std::vector<std::string> found_below(const fs::path& directory, const std::string& path, int levels,
                                     SourceStore& store) {
  std::vector<std::string> below;
  std::vector<std::string> holders;  // the directories right in this one below which they are
  for (const fs::path& entry : sorted_entries(directory / path)) {
    const std::string name = entry.filename().string();
    if (!is_folder(entry) || name.starts_with('.') || is_link_to_sibling(entry) || is_cache_of_blobs(entry)) continue;
    const std::string inner = path.empty() ? name : path + "/" + name;
    const bool is_one = is_by_itself(entry, store);
    const auto inside =
        is_one || levels <= 0 ? std::vector<std::string>{} : found_below(directory, inner, levels - 1, store);
    if (is_one) below.push_back(inner);
    below.insert(below.end(), inside.begin(), inside.end());
    if (is_one || !inside.empty()) holders.push_back(name);
  }
  if (!path.empty() && !holders.empty() && are_of_ranks(directory / path, holders)) return {path};
  return below;
}

struct Pointer {
  const char* file;
  std::string (*named)(const fs::path& pointer);
};

constexpr std::array pointers{Pointer{"latest", named_by_word}, Pointer{"latest_universal", named_by_word},
                              Pointer{"latest_checkpointed_iteration.txt", named_by_iteration},
                              Pointer{"checkpoint", named_by_tensorflow}};

/// Whether the checkpoint of a directory was never finished.
bool is_unfinished(const fs::path& directory) {
  const auto described = SelfDescribed::find(directory);
  return described && described->is_unfinished();
}

/// "give step-1", or of several the last that can be read as an example.
std::string give_one(const fs::path& directory, const std::vector<std::string>& below) {
  const auto is_readable = [&](const std::string& name) {
    return !name.ends_with("_universal") && !foreign_directory(directory / name) && !is_unfinished(directory / name);
  };
  const auto last = std::find_if(below.rbegin(), below.rend(), is_readable);
  const std::string path = shell_word((directory / (last == below.rend() ? below.back() : *last)).string());
  return below.size() == 1 ? "give " + path : "give the one that is meant, for example " + path;
}

/// A file that says more of a directory without tensors than others do, in it or below: one whose data is lost, else
/// one that is recognised and no text.
std::optional<Error> likeliest_error(const fs::path& directory, const std::string& known_formats, int levels) {
  std::optional<Error> telling;
  std::vector<fs::path> folders;
  for (const fs::path& entry : sorted_entries(directory)) {
    if (is_folder(entry) && !entry.filename().string().starts_with('.')) folders.push_back(entry);
    if (!is_plain_file(entry)) continue;
    const LikelyContent likely = likely_content(entry);
    const bool is_named_as_ours = format_by_ending(formats(), entry.native()) != nullptr;
    if (likely.what.empty() || (!is_named_as_ours && (likely.is_lost || likely.what.starts_with("text")))) continue;
    if (telling && !is_named_as_ours) continue;
    telling = Error(Kind::input, entry.string(),
                    {"no file of tensors is beside it, and it seems to be " + likely.what,
                     "a checkpoint (" + known_formats + ")", likely.remedy});
    if (is_named_as_ours) break;
  }
  for (auto folder = folders.begin(); levels > 0 && !telling && folder != folders.end(); ++folder)
    telling = likeliest_error(*folder, known_formats, levels - 1);
  return telling;
}

}  // namespace

std::vector<fs::path> sorted_entries(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  std::sort(entries.begin(), entries.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().string(), b.filename().string());
  });
  return entries;
}

std::optional<Error> stale_pointer(const fs::path& directory, SourceStore& store) {
  for (const Pointer& pointer : pointers) {
    const fs::path file = directory / pointer.file;
    const std::string named = pointer.named(file);
    std::error_code error;
    const bool is_empty = is_plain_file(file) && fs::file_size(file, error) == 0;
    if (!is_empty && (named.empty() || fs::exists(directory / named, error) || error)) continue;
    std::vector<std::string> below = checkpoints_below(directory, store);
    std::erase_if(below, [&](const std::string& name) { return is_unfinished(directory / name); });
    if (is_empty)
      return Error(Kind::input, file.string(),
                   {"it is empty", "the name of a checkpoint beside it",
                    below.empty() ? "give the path of the checkpoint" : give_one(directory, below)});
    return Error(Kind::input, file.string(),
                 {"it names " + named + ", which is not there",
                  below.empty()       ? "that checkpoint, and there is no other"
                  : below.size() == 1 ? below.front()
                                      : "one of " + join(below),
                  below.empty() ? "copy it, too, or give the path of another checkpoint" : give_one(directory, below)});
  }
  return std::nullopt;
}

bool is_of_step(const std::string& name) {
  static const std::regex form(R"((checkpoint|ckpt|step|global_?step|iter|iteration|epoch)[-_=]?\d+(\D.*)?)");
  return std::regex_match(name, form);
}

bool are_of_ranks(const fs::path& directory, const std::vector<std::string>& names) {
  const bool are_named =
      std::all_of(names.begin(), names.end(), [](const std::string& name) { return number_of_rank(name).has_value(); });
  return (are_named || count_from_zero(names)) &&
         std::none_of(names.begin(), names.end(),
                      [&](const std::string& name) { return says_what_it_is(directory / name); });
}

std::vector<std::string> checkpoints_below(const fs::path& directory, SourceStore& store) {
  return found_below(directory, "", most_levels_below, store);
}

std::vector<PassedOver> files_passed_over(const fs::path& directory, const std::set<std::string>& taken,
                                          const std::set<std::string>& endings, SourceStore& store) {
  std::set<std::string> folders;  // of which something is taken
  for (const std::string& file : taken)
    if (const std::size_t slash = file.find('/'); slash != std::string::npos) folders.insert(file.substr(0, slash));
  const bool is_run = !folders.empty() && SelfDescribed::find(directory);
  const auto may_hold_others = [&](const std::string& folder) {
    if (folder.starts_with('.') || folders.contains(folder)) return false;
    std::error_code none;  // `latest` is mostly a link to a folder beside it
    if (std::any_of(folders.begin(), folders.end(), [&](const std::string& other) {
          return fs::equivalent(directory / folder, directory / other, none);
        }))
      return false;
    // Rank 2's folder beside those of ranks 0 and 1 is like them, and another step's beside the one that is taken.
    const bool is_like_taken = std::any_of(folders.begin(), folders.end(),
                                           [&](const std::string& other) { return differ_in_numbers(folder, other); });
    return is_like_taken ? !is_run : !is_of_step(folder);
  };
  std::vector<PassedOver> others;
  const auto look_at = [&](const fs::path& path, const std::string& name) {
    const bool may_hold =
        endings.contains(path.extension().string()) || format_by_ending(formats(), path.native()) != nullptr;
    if (!may_hold || taken.contains(name) || !is_plain_file(path)) return;
    if (holds_tensors(path, store)) return others.push_back({name, ""});
    if (LikelyContent likely = likely_content(path); likely.is_lost) others.push_back({name, std::move(likely.what)});
  };
  for (const fs::path& entry : sorted_entries(directory)) {
    const std::string name = entry.filename().string();
    look_at(entry, name);
    if (!is_folder(entry) || !may_hold_others(name)) continue;
    if (SelfDescribed::find(entry)) {
      others.push_back({name, "a checkpoint by itself"});
      continue;
    }
    for (const fs::path& inner : sorted_entries(entry)) look_at(inner, name + "/" + inner.filename().string());
  }
  return others;
}

Error parent_directory_error(const fs::path& directory, const std::vector<std::string>& below) {
  if (std::ranges::all_of(below, [&](const std::string& name) { return is_unfinished(directory / name); }))
    return {
        Kind::input,
        directory.string(),
        {"none of the checkpoints in it was finished: " + join(below), "one that was",
         "take another directory; give " + shell_word((directory / below.back()).string()) + " to see what it lacks"}};
  const std::string found = below.size() == 1
                                ? "it holds a checkpoint: " + below.front()
                                : "it holds " + std::to_string(below.size()) + " checkpoints: " + join(below);
  return {Kind::input, directory.string(), {found, "the directory of one", give_one(directory, below)}};
}

Error not_found_error(const fs::path& path, const std::string& expected) {
  if (const auto foreign = foreign_prefix(path))
    return {Kind::input,
            path.string(),
            {"it is " + foreign->what + ": these programs do not read it", expected, foreign->remedy}};
  // A prefix, as Paddle and TensorFlow take it, or a name without its ending.
  const std::string beginning = path.filename().string() + ".";
  for (const fs::path& entry : sorted_entries(path.has_parent_path() ? path.parent_path() : fs::path("."))) {
    const std::string name = entry.filename().string();
    if (!path.has_filename() || !name.starts_with(beginning)) continue;
    const std::string whole =
        fs::path(entry).replace_filename(tensorflow::prefix_of_data(name).value_or(name)).string();
    return {Kind::usage,
            path.string(),
            {"no such file or directory", expected, "give a whole name, for example " + shell_word(whole)}};
  }
  return {Kind::usage, path.string(), {"no such file or directory", expected, "check the path"}};
}

Error no_tensors_error(const fs::path& directory, SourceStore& store, const std::string& known_formats) {
  const auto refuse = [&](const fs::path& where, const ForeignDirectory& foreign) {
    return Error(Kind::input, where.string(),
                 {"it is " + foreign.what + ": these programs do not read it", known_formats, foreign.remedy});
  };
  if (auto stale = stale_pointer(directory, store)) return std::move(*stale);
  if (const auto foreign = foreign_directory(directory)) return refuse(directory, *foreign);
  const std::vector<std::string> below = checkpoints_below(directory, store);
  if (!below.empty()) {
    if (const auto foreign = foreign_directory(directory / below.back());
        foreign && !SelfDescribed::find(directory / below.back()))
      return refuse(directory / below.back(), *foreign);
    return parent_directory_error(directory, below);
  }
  if (auto telling = likeliest_error(directory, known_formats, most_levels_below)) return std::move(*telling);
  std::error_code error;
  if (fs::is_empty(directory, error) && !error)
    return {Kind::input, directory.string(), {"an empty directory", "a checkpoint", "check the path"}};
  return {Kind::input,
          directory.string(),
          {"no file of tensors (" + known_formats + ") is in it", "a checkpoint", "check the path"}};
}

}  // namespace ckpt
