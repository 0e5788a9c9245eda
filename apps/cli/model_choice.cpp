#include "cli/model_choice.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "io/small_text.hpp"
#include "output/locked_draft.hpp"

namespace ckpt::cli {

namespace {

constexpr const char* checkpoint_file = "donefile.txt";
constexpr std::array<const char*, 2> base_files{"base_donefile.txt", "xbox_base_done.txt"};
constexpr std::array<const char*, 2> delta_files{"patch_donefile.txt", "xbox_patch_done.txt"};

/// Far above the lines of years.
constexpr std::uint64_t most_done_bytes = 64ULL << 20;

/// A done-file's lines, and its path.
struct DoneFile {
  std::filesystem::path path;
  std::vector<DoneLine> lines;
};

/// The first of these files that exists; nothing if none does.
std::optional<DoneFile> find_done_file(const std::filesystem::path& directory, std::span<const char* const> names) {
  for (const char* const name : names) {
    const std::filesystem::path path = directory / name;
    std::error_code error;
    if (std::filesystem::exists(path, error))
      return DoneFile{path, parse_done_lines(read_done_file(path), path.string())};
    if (error) throw system_error(path.string(), "stat", error.value());
  }
  return std::nullopt;
}

DoneFile done_file(const std::filesystem::path& directory, std::span<const char* const> names) {
  auto found = find_done_file(directory, names);
  if (!found)
    throw Error(
        Kind::input, directory.string(),
        {"it has no " + std::string(names.front()) + (names.size() > 1 ? " and no " + std::string(names.back()) : ""),
         "the output directory of a training job, which notes its models there",
         "name the model itself: SRC, and --delta for what came after it"});
  if (found->lines.empty())
    throw Error(Kind::input, found->path.string(), {"no line", "one for each model that is whole", ""});
  return std::move(*found);
}

/// A base and the deltas with its key: up to `last`, or all.
std::vector<DoneLine> chain_of(const DoneLine& base, const DoneFile& deltas, const DoneLine* last) {
  std::vector<DoneLine> chain{base};
  for (const DoneLine& delta : deltas.lines) {
    if (delta.key == base.key) chain.push_back(delta);
    if (&delta == last) break;
  }
  return chain;
}

/// The base that a delta was made for.
DoneLine base_of(const DoneLine& delta, const DoneFile& bases) {
  const auto base = std::find_if(bases.lines.rbegin(), bases.lines.rend(),
                                 [&](const DoneLine& line) { return line.key == delta.key; });
  if (base == bases.lines.rend())
    throw Error(Kind::input, bases.path.string(),
                {"no base with key " + delta.key, "that of " + delta.name(), "it cannot be put on another base"});
  return *base;
}

std::vector<DoneLine> named_model(const std::filesystem::path& directory, const DoneLine& wanted) {
  const DoneFile file = wanted.is_base()    ? done_file(directory, base_files)
                        : wanted.is_delta() ? done_file(directory, delta_files)
                                            : done_file(directory, std::array{checkpoint_file});
  const auto line = std::find_if(file.lines.rbegin(), file.lines.rend(),
                                 [&](const DoneLine& each) { return each.name() == wanted.name(); });
  if (line == file.lines.rend())
    throw Error(Kind::input, file.path.string(),
                {"no line for " + wanted.name(), "one, for the model is whole only then",
                 "the last is " + file.lines.back().name() + "; --wait-for " + file.path.string() + ":" +
                     wanted.name() + " waits for it"});
  if (!wanted.is_delta()) return {*line};
  return chain_of(base_of(*line, done_file(directory, base_files)), file, &*line);
}

bool has_line(const std::vector<DoneLine>& lines, const DoneLine& line) {
  return std::any_of(lines.begin(), lines.end(), [&](const DoneLine& each) { return each.name() == line.name(); });
}

/// Refuses a line for an older model than the last one: readers take a done-file's last line for the latest model.
void check_is_last(const std::vector<DoneLine>& lines, const DoneLine& line, const std::filesystem::path& file) {
  if (lines.empty() || !line.is_before(lines.back())) return;
  throw Error(Kind::usage, "--done",
              {file.string() + " ends with " + lines.back().name() + ", which came after " + line.name(),
               "a later model: its last line is taken for the latest", "leave --done out, or name another file"});
}

std::filesystem::path without_slash(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

/// The file that links lead to, so that a replaced file keeps its links.
std::filesystem::path named_itself(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(file, error);
  return error ? file : real;
}

}  // namespace

std::vector<std::filesystem::path> ModelChoice::deltas() const {
  std::vector<std::filesystem::path> paths;
  for (auto line = lines.begin() + 1; line != lines.end(); ++line) paths.push_back(path_of(*line));
  return paths;
}

ModelChoice choose_model(const std::filesystem::path& directory, const std::string& wanted) {
  if (wanted == "checkpoint") return {{done_file(directory, std::array{checkpoint_file}).lines.back()}, directory};
  if (wanted == "base") return {{done_file(directory, base_files).lines.back()}, directory};
  if (wanted == "chain") {
    const DoneLine base = done_file(directory, base_files).lines.back();
    const auto deltas = find_done_file(directory, delta_files);
    return {deltas ? chain_of(base, *deltas, nullptr) : std::vector{base}, directory};
  }
  const auto named = parse_day_and_pass(wanted);
  if (!named)
    throw Error(Kind::usage, "--latest",
                {"'" + wanted + "'", "checkpoint, base, chain, or DAY/PASS",
                 "write for example 20190720/6, 20190721/base or 20190720/delta-6"});
  return {named_model(directory, *named), directory};
}

std::string read_done_file(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    if (error) throw system_error(file.string(), "stat", error.value());
    return "";
  }
  return small_text(file, most_done_bytes, "a done-file: a line for each model that is whole");
}

bool has_done_line(const std::filesystem::path& file, const DoneLine& line) {
  std::string text = read_done_file(file);
  text.resize(text.rfind('\n') + 1);  // a writer may still be writing the last line
  return has_line(parse_done_lines(text, file.string()), line);
}

bool wants_done_line(const std::filesystem::path& file, const DoneLine& line) {
  if (has_done_line(file, line)) return false;
  std::string text = read_done_file(file);
  text.resize(text.rfind('\n') + 1);
  check_is_last(parse_done_lines(text, file.string()), line, file);
  const LockedDraft draft(named_itself(file));  // checks that it can be made there
  return true;
}

DoneLine line_for(const std::filesystem::path& path, const std::string& key) {
  const std::filesystem::path named = without_slash(path);
  auto line = parse_day_and_pass((named.parent_path().filename() / named.filename()).string());
  if (!line)
    throw Error(Kind::usage, "--done",
                {"the output " + path.string() + " ends with no day and pass",
                 "one such as OUT/20190720/6, OUT/20190721/base or OUT/20190720/delta-6", ""});
  if (line->is_delta() && key.empty())
    throw Error(Kind::usage, "--done",
                {"the key of the base that " + line->name() + " belongs to is not known", "a delta of done-files",
                 "choose it with --model and --latest"});
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  line->id = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count());
  line->key = key.empty() ? line->id : key;
  return *line;
}

void add_done_line(const std::filesystem::path& file, const DoneLine& line, const std::filesystem::path& path) {
  const std::string added = done_line(line, without_slash(path).string()) + "\n";
  try {
    const std::filesystem::path named = named_itself(file);
    LockedDraft draft(named);
    std::string text = read_done_file(named);
    const auto lines = parse_done_lines(text, file.string());
    if (has_line(lines, line)) return;
    check_is_last(lines, line, file);
    if (!text.empty() && text.back() != '\n') text += '\n';
    draft.publish(text + added);
  } catch (Error& error) {
    error.advise("the output is written: only the line is not, which is " + added.substr(0, added.size() - 1));
    throw;
  }
}

}  // namespace ckpt::cli
