#include "checkpoint/missing_layout.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "checkpoint/directory_hints.hpp"
#include "checkpoint/whole_file_check.hpp"
#include "frameworks/describe.hpp"
#include "layout/names/name_groups.hpp"
#include "store/likely_content.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

/// The names that transformers, diffusers, PEFT and Mistral give a model that is in one file. Each line is one model's
/// in several formats: the first that is there is the one that its library loads.
constexpr std::array<std::array<std::string_view, 3>, 5> names_of_models{
    {{"model.safetensors", "pytorch_model.bin", "tf_model.h5"},
     {"diffusion_pytorch_model.safetensors", "diffusion_pytorch_model.bin"},
     {"adapter_model.safetensors", "adapter_model.bin"},
     {"pytorch_lora_weights.safetensors", "pytorch_lora_weights.bin"},
     {"consolidated.safetensors", "consolidated.00.pth"}}};

/// A file's name that numbers it among others: "model-00001-of-00007.safetensors", "model_world_size_4_rank_0.pt".
struct NumberedName {
  std::string before;  ///< the number
  std::string behind;
  std::size_t digits = 0;
  std::uint64_t number = 0;
  std::uint64_t first = 0;             ///< of the numbers that its kind begins with
  std::optional<std::uint64_t> total;  ///< how many there are, if the name says it
  bool is_of_ranks = true;             ///< else of a model's parts

  std::string kind() const { return before + "*" + behind; }
  std::string with(std::uint64_t other) const {
    std::string text = std::to_string(other);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    return before + text + behind;
  }
};

std::uint64_t as_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc{} ? value : ~std::uint64_t{0};
}

/// Finds the number in a name by a count, else by a rank. The rank decides for a name with both
/// ("shard-00002-model-00001-of-00002.safetensors"), as a rank may lack files of some parts.
std::optional<NumberedName> numbered(const std::string& name) {
  static const std::regex of_total(R"((.*?)(\d+)(-of-(\d+).*))");
  static const std::regex of_world(R"((.*world_size_(\d+)_rank_)(\d+)(.*))");
  const auto rank = number_of_rank(name);
  std::smatch found;
  if (std::regex_match(name, found, of_total) && (!rank || static_cast<std::size_t>(found.position(2)) == rank->at))
    return NumberedName{found[1], found[3], found[2].str().size(), as_number(found[2]), 1, as_number(found[4]), false};
  if (std::regex_match(name, found, of_world))
    return NumberedName{found[1], found[4], 1, as_number(found[3]), 0, as_number(found[2])};
  if (!rank) return std::nullopt;
  static const std::regex of_shard(R"(.*shard-\d+-model-\d+-of-\d+.*)");
  const std::uint64_t first = std::regex_match(name, of_shard) ? 1 : 0;  // DCP counts both from 1
  return NumberedName{
      name.substr(0, rank->at), name.substr(rank->at + rank->digits), rank->digits, rank->value, first, {}};
}

/// The files right in the directory, without a trainer's own unless there is nothing else.
std::vector<std::size_t> top_files(const FoundFiles& found) {
  std::vector<std::size_t> top;
  std::vector<std::size_t> states;
  for (std::size_t i = 0; i < found.names.size(); ++i)
    if (found.names[i].find('/') == std::string::npos)
      (is_state_of_trainer(found.names[i]) ? states : top).push_back(i);
  return top.empty() && states.size() == found.names.size() ? states : top;
}

std::vector<std::string> names_at(const FoundFiles& found, const std::vector<std::size_t>& files) {
  std::vector<std::string> names;
  for (const std::size_t file : files) names.push_back(found.names[file]);
  return names;
}

/// Names of one kind, each with the numbers that are there.
struct NumberedKind {
  NumberedName name;
  std::set<std::uint64_t> numbers;

  /// The numbers that ought to be there, too: all that the names count, else those before the last.
  std::vector<std::uint64_t> missing() const {
    constexpr std::uint64_t most = 1U << 20;
    const std::uint64_t first = numbers.contains(0) ? 0 : name.total || *numbers.begin() != 1 ? name.first : 1;
    const std::uint64_t end = std::min(name.total ? first + *name.total : *numbers.rbegin() + 1, first + most);
    std::vector<std::uint64_t> lost;
    for (std::uint64_t number = first; number < end; ++number)
      if (!numbers.contains(number)) lost.push_back(number);
    return lost;
  }
};

/// The words that mark a copy in a file's name, as a regular expression.
const std::string copy_words = "bak|backup|copy|old|orig";

/// Whether a kind's files are copies that a person or a browser made: "rank_2 (1).pt" beside rank_0.pt to rank_3.pt.
bool is_stray(const NumberedKind& kind, const NumberedKind& other) {
  static const std::regex mark(R"(( - Copy( \(\d+\))?| ?\(\d+\)|[._-]()" + copy_words + R"()\d*)(?=\.[^.]*$))",
                               std::regex::icase);
  return other.name.before == kind.name.before && std::regex_replace(kind.name.behind, mark, "") == other.name.behind &&
         other.name.behind != kind.name.behind && other.missing().empty() &&
         std::includes(other.numbers.begin(), other.numbers.end(), kind.numbers.begin(), kind.numbers.end());
}

std::vector<NumberedKind> kinds_of(const std::vector<std::string>& names) {
  std::map<std::string, NumberedKind> kinds;
  for (const std::string& name : names)
    if (const auto number = numbered(name)) {
      NumberedKind& kind = kinds.try_emplace(number->kind(), NumberedKind{*number, {}}).first->second;
      kind.numbers.insert(number->number);
    }
  std::vector<NumberedKind> all;
  for (const auto& [name, kind] : kinds)
    if (std::none_of(kinds.begin(), kinds.end(), [&](const auto& other) { return is_stray(kind, other.second); }))
      all.push_back(kind);
  return all;
}

bool is_model(const std::string& name) {
  return std::any_of(names_of_models.begin(), names_of_models.end(), [&](const auto& formats) {
    return std::find(formats.begin(), formats.end(), name) != formats.end();
  });
}

/// Returns the file with a model's name, if all such files hold the same model. The first file of several ranks
/// (consolidated.00.pth beside consolidated.01.pth) holds no whole model.
std::optional<std::size_t> only_model(const FoundFiles& found, const std::vector<std::size_t>& top) {
  std::optional<std::size_t> model;
  for (const auto& formats : names_of_models) {
    std::optional<std::size_t> first;
    for (const std::string_view format : formats)
      for (const std::size_t file : top)
        if (!first && found.names[file] == format) first = file;
    if (first && model) return std::nullopt;
    if (first) model = first;
  }
  if (!model) return std::nullopt;
  const auto number = numbered(found.names[*model]);
  const bool has_more = number && std::any_of(top.begin(), top.end(), [&](std::size_t file) {
                          const auto other = numbered(found.names[file]);
                          return file != *model && other && other->kind() == number->kind();
                        });
  return has_more ? std::nullopt : model;
}

/// The file that the chosen model's library would rather load, where that is none.
std::optional<Error> preferred_is_lost(const fs::path& directory, const std::string& chosen) {
  for (const auto& formats : names_of_models) {
    const auto* const end = std::find(formats.begin(), formats.end(), chosen);
    if (end == formats.end()) continue;
    for (const auto* name = formats.begin(); name != end; ++name)
      if (auto lost = unlike(directory / *name, "the model")) return lost;
  }
  return std::nullopt;
}

/// A file beside the chosen one that ought to be one like it, and has no data.
void check_none_is_lost(const fs::path& directory, const std::string& chosen, SourceStore& store) {
  for (const fs::path& entry : sorted_entries(directory)) {
    std::error_code none;
    if (entry.extension() != fs::path(chosen).extension() || !fs::is_regular_file(entry, none)) continue;
    if (entry.filename() == chosen || store.recognises(entry)) continue;
    const LikelyContent likely = likely_content(entry);
    if (likely.is_lost)
      throw Error(Kind::input, entry.string(),
                  {"it seems to be " + likely.what, "a file of tensors, as " + chosen + " beside it",
                   likely.remedy + "; or give " + shell_word((directory / chosen).string()) + " alone"});
  }
}

/// "rank_2.pt.tmp" of rank_2.pt.
std::optional<fs::path> unfinished(const fs::path& file) {
  const std::string begin = file.filename().string() + ".";
  for (const fs::path& entry : sorted_entries(file.parent_path()))
    if (entry.filename().string().starts_with(begin)) return entry;
  return std::nullopt;
}

/// A missing file may exist with other contents, such as a Git LFS pointer: the error then names these.
Error missing_of(const fs::path& directory, const NumberedKind& kind, const std::vector<std::uint64_t>& missing) {
  const std::string present = kind.name.with(*kind.numbers.begin());
  for (const std::uint64_t number : missing)
    if (auto other = unlike(directory / kind.name.with(number), "a file of tensors, as " + present + " beside it"))
      return std::move(*other);
  std::vector<std::string> names;
  std::vector<std::string> numbers;
  std::string hint;
  for (const std::uint64_t number : missing) {
    names.push_back(kind.name.with(number));
    numbers.push_back(std::to_string(number));
    if (const auto part = unfinished(directory / names.back()); part && hint.empty())
      hint = "; " + shell_word(part->string()) + " may be the rest of an interrupted save or copy";
  }
  const bool is_of_ranks = kind.name.is_of_ranks;
  const std::string what =
      is_of_ranks ? (numbers.size() == 1 ? "the file of rank " : "the files of ranks ") + join(numbers) : join(names);
  const std::uint64_t count = kind.numbers.size() + missing.size();
  return {
      Kind::input,
      directory.string(),
      {what + (missing.size() == 1 ? " is" : " are") + " missing" + (is_of_ranks ? " (" + join(names, 3) + ")" : ""),
       std::to_string(count) + " files like " + present,
       "copy " + std::string(missing.size() == 1 ? "it" : "them") + " into " + shell_word(directory.string()) + hint}};
}

/// model_0, model_1, model_2: whatever their word means, most likely one checkpoint's.
bool differ_in_one_number(const std::vector<std::string>& names) {
  const auto groups = group_names(names);
  return groups.size() == 1 && std::count(groups.front().pattern.begin(), groups.front().pattern.end(), '*') == 1;
}

std::vector<std::string> first_directories(const FoundFiles& found) {
  std::set<std::string, decltype(&natural_less)> directories(&natural_less);
  for (const std::string& name : found.names)
    if (const std::size_t slash = name.find('/'); slash != std::string::npos) directories.insert(name.substr(0, slash));
  return {directories.begin(), directories.end()};
}

/// The names of all files with tensors but these.
std::vector<std::string> names_but(const FoundFiles& found, const std::vector<std::size_t>& taken) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < found.names.size(); ++i)
    if (!found.catalogs[i].schema->arrays->empty() && std::find(taken.begin(), taken.end(), i) == taken.end())
      others.push_back(found.names[i]);
  return others;
}

/// What an interrupted save or an editor leaves: "tmp_model.pt", "model.bak.pt".
bool is_leftover(const std::string& name) {
  static const std::regex form("(.*[._ -])?(te?mp|" + copy_words + R"()\d*([._ -].*)?)", std::regex::icase);
  return std::regex_match(name, form);
}

/// model.pdopt, optimizer.bin: larger than the model beside it, and seldom meant.
bool is_of_optimizer(const std::string& name) {
  return name.ends_with(".pdopt") || name.find("optim") != std::string::npos;
}

/// A file alone that carries the layout of a merged one, whatever its name counts.
bool is_one_merged_file(const FoundFiles& found) {
  if (found.names.size() != 1) return false;
  const std::string& carried = found.catalogs.front().schema->layout;
  return !carried.empty() &&
         is_of_one_file(parse_layout(carried, "the layout that " + found.names.front() + " carries"));
}

/// A draft is made of files of one kind, whose names differ in numbers only.
bool may_be_drafted(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return differ_in_numbers(name, names.front()); });
}

Advice without_draft(const Advice& advice) {
  return advice.what == Advice::What::draft_layout ? Advice{Advice::What::give_layout, ""} : advice;
}

/// The command that puts files of one kind into a directory of their own: "mkdir src/rank && ln src/rank_*.h5
/// src/rank".
std::string command_apart(const fs::path& directory, const NumberedName& kind) {
  const std::size_t end = kind.before.find_last_not_of("_-.=");
  const fs::path own = directory / (end == std::string::npos ? "ranks" : kind.before.substr(0, end + 1));
  const auto quoted = [](const std::string& text) { return text.empty() ? "" : shell_word(text); };
  return "mkdir " + shell_word(own.string()) + " && ln " + quoted((directory / kind.before).string()) + "*" +
         quoted(kind.behind) + " " + shell_word(own.string());
}

/// The error of a rank's folder in which no file of tensors was found, as the others' have.
std::optional<Error> unlike_in_folders(const FoundFiles& found) {
  const std::string& name = found.names.front();
  const std::vector<std::string> directories = first_directories(found);
  for (const fs::path& entry : sorted_entries(found.path)) {
    const std::string folder = entry.filename().string();
    std::error_code none;
    if (!fs::is_directory(entry, none) ||
        std::find(directories.begin(), directories.end(), folder) != directories.end() ||
        !differ_in_numbers(folder, directories.front()))
      continue;
    for (const fs::path& inner : sorted_entries(entry))
      if (differ_in_numbers(folder + "/" + inner.filename().string(), name))
        if (auto other = unlike(inner, "a file of tensors, as " + name + " beside it")) return other;
    return Error(Kind::input, entry.string(),
                 {"no file of tensors is in it", "one, as " + name + " beside it",
                  "copy this rank's files into " + shell_word(entry.string())});
  }
  return std::nullopt;
}

/// One file, in the folder of the first rank (mp_rank_00/model_optim_rng.pt), where no other rank has a folder.
bool is_of_only_rank(const FoundFiles& found) {
  const std::vector<std::string> directories = first_directories(found);
  if (found.names.size() != 1 || directories.size() != 1) return false;
  const auto rank = number_of_rank(directories.front());
  if (!rank || rank->value != 0 || !are_of_ranks(found.path, directories)) return false;
  if (auto unlike = unlike_in_folders(found)) throw std::move(*unlike);
  return true;
}

/// The error of two files of one rank: "rank_2.pt" and "rank_02.pt".
std::optional<Error> same_rank_twice(const FoundFiles& found) {
  std::map<std::pair<std::string, std::uint64_t>, std::string> files;
  for (const std::string& name : found.names) {
    const auto number = numbered(name);
    if (!number || !number->is_of_ranks) continue;
    const auto [other, is_new] = files.emplace(std::pair(number->kind(), number->number), name);
    if (!is_new)
      return Error(Kind::input, found.path.string(),
                   {other->second + " and " + name + " are both rank " + std::to_string(number->number) + "'s",
                    "one file for each rank", "move the one away that is stale"});
  }
  return std::nullopt;
}

/// The error of models in several files each, whose names count them.
std::optional<Error> several_models(const FoundFiles& found, const std::vector<std::string>& names) {
  std::vector<NumberedKind> models;
  std::vector<std::string> firsts;
  for (NumberedKind& kind : kinds_of(names)) {
    if (!kind.name.total || kind.name.is_of_ranks) continue;
    firsts.push_back(kind.name.with(kind.name.first));
    models.push_back(std::move(kind));
  }
  if (models.size() < 2 || !may_be_drafted(firsts)) return std::nullopt;
  return Error(Kind::input, found.path.string(),
               {"it holds " + std::to_string(models.size()) + " models of several files each: " + join(firsts, 4),
                "the files of one",
                "put those of one into a directory of their own (" + command_apart(found.path, models.front().name) +
                    ") and give that"});
}

/// The steps' folders, and those of frameworks, below a directory.
std::vector<std::string> steps_below(const fs::path& directory, SourceStore& store) {
  std::vector<std::string> below = checkpoints_below(directory, store);
  std::erase_if(below, [&](const std::string& name) {
    return !is_of_step(name.substr(0, name.find('/'))) && !SelfDescribed::find(directory / name);
  });
  return below;
}

}  // namespace

void refuse_beside_steps(const fs::path& directory, const std::string& file, SourceStore& store) {
  if (is_model(file)) return;
  const std::vector<std::string> below = steps_below(directory, store);
  if (below.empty()) return;
  throw Error(Kind::usage, directory.string(),
              {"it holds " + file + " and the " + (below.size() == 1 ? "checkpoint " : "checkpoints ") + join(below),
               "one of them",
               "give the one that is meant, for example " + shell_word((directory / below.back()).string()) + ", or " +
                   shell_word((directory / file).string())});
}

bool is_state_of_trainer(const std::string& name) {
  static const std::regex form(
      R"((optimizer|scheduler|scaler|sampler|rng_state|random_states|training_args|dl_state_dict|custom_checkpoint)([_.\d].*)?)");
  return std::regex_match(name, form);
}

bool is_of_one_file(const Layout& layout) {
  return layout.mesh.size() == 1 && layout.files.count(layout.mesh) == 1;
}

std::optional<std::size_t> whole_file(const FoundFiles& found, SourceStore& store) {
  const bool is_merged = is_one_merged_file(found);
  const std::vector<std::size_t> top = top_files(found);
  const auto only = is_merged || is_of_only_rank(found) ? std::optional<std::size_t>(0)
                    : top.size() == 1                   ? std::optional(top.front())
                                                        : only_model(found, top);
  if (!only) return std::nullopt;
  const std::string& name = found.names[*only];
  const auto directories = first_directories(found);
  if (!is_merged && top.size() == 1 && !directories.empty() && are_of_ranks(found.path, directories))
    return std::nullopt;
  const auto number = is_merged || is_model(name) ? std::nullopt : numbered(name);
  if (number && (number->total.value_or(1) != 1 || number->number > number->first)) return std::nullopt;
  if (auto stale = stale_pointer(found.path, store)) {
    if (!is_model(name)) throw std::move(*stale);
    log::warn("{}: {}; {} beside it is taken", stale->object(), stale->text().found, name);
  }
  if (const auto lost = preferred_is_lost(found.path, name))
    log::warn("{}: {}; {} beside it is taken", lost->object(), lost->text().found, name);
  if (number && !number->total)
    log::warn("{}: {} is taken for the whole; nothing says of how many ranks it is", found.path.string(), name);
  check_none_is_lost(found.path, name, store);
  if (!is_merged && name.find('/') == std::string::npos) refuse_beside_steps(found.path, name, store);
  if (const auto others = names_but(found, {*only}); !others.empty())
    log::warn("{}: {} is taken for the whole model; other files of tensors are not looked at: {}", found.path.string(),
              name, join(others, 4));
  return only;
}

std::optional<WeightMap> numbered_parts(const FoundFiles& found) {
  const std::vector<std::size_t> top = top_files(found);
  const auto kinds = kinds_of(names_at(found, top));
  if (kinds.size() != 1 || !kinds.front().name.total || kinds.front().numbers.size() != top.size()) return std::nullopt;
  if (!first_directories(found).empty() || !kinds.front().missing().empty()) return std::nullopt;
  WeightMap map;
  for (const std::size_t file : top)
    for (const StoredArray& array : *found.catalogs[file].schema->arrays)
      if (!map.file_of.emplace(array.name, found.names[file]).second) return std::nullopt;
  const auto others = names_but(found, top);
  log::warn("{}: no index is beside the {} files, which are taken for one model, as their names count them{}",
            found.path.string(), top.size(), others.empty() ? "" : "; not looked at: " + join(others, 4));
  return map;
}

std::optional<Error> missing_by_count(const FoundFiles& found) {
  for (const NumberedKind& kind : kinds_of(found.names)) {
    if (!kind.name.is_of_ranks || !kind.name.total) continue;
    if (const auto missing = kind.missing(); !missing.empty()) return missing_of(found.path, kind, missing);
  }
  return std::nullopt;
}

std::optional<Error> above_checkpoints(const FoundFiles& found, SourceStore& store) {
  if (!top_files(found).empty() || are_of_ranks(found.path, first_directories(found))) return std::nullopt;
  const std::vector<std::string> below = checkpoints_below(found.path, store);
  return below.empty() ? std::nullopt : std::optional(parent_directory_error(found.path, below));
}

std::optional<Error> unlike_one_checkpoint(const FoundFiles& found, SourceStore& store) {
  if (auto stale = stale_pointer(found.path, store)) return stale;
  if (auto above = above_checkpoints(found, store)) return above;
  const std::vector<std::size_t> top = top_files(found);
  const std::vector<std::string> directories = first_directories(found);
  if (auto twice = same_rank_twice(found)) return twice;
  for (const NumberedKind& kind : kinds_of(top.empty() ? directories : names_at(found, top)))
    if (const auto missing = kind.missing(); !missing.empty()) return missing_of(found.path, kind, missing);
  if (top.empty()) return unlike_in_folders(found);
  return several_models(found, names_at(found, top));
}

Error missing_layout_error(const FoundFiles& found, SourceStore& store, const Error::Text& otherwise) {
  if (auto unlike = unlike_one_checkpoint(found, store)) return std::move(*unlike);
  const std::vector<std::size_t> top = top_files(found);
  const std::vector<std::string> names = names_at(found, top);
  const std::vector<NumberedKind> kinds = kinds_of(names);
  const auto counted =
      std::find_if(kinds.begin(), kinds.end(), [](const auto& kind) { return kind.numbers.size() > 1; });
  if (names.size() > 1 && counted == kinds.end() && !differ_in_one_number(names)) {
    const std::size_t largest = *std::max_element(top.begin(), top.end(), [&](std::size_t a, std::size_t b) {
      const auto rank = [&](std::size_t file) {
        const std::string& name = found.names[file];
        return std::tuple(!is_leftover(name), !is_of_optimizer(name), found.catalogs[file].bytes);
      };
      return rank(a) < rank(b);
    });
    return {Kind::usage,
            found.path.string(),
            {"it holds " + std::to_string(names.size()) +
                 " files of tensors, and nothing says how they belong together: " + join(names, 4),
             "one file, an index beside them, or a layout",
             "give the file that is meant, for example " + shell_word((found.path / found.names[largest]).string()),
             without_draft(otherwise.advice)}};
  }
  if (!may_be_drafted(found.names))
    return {Kind::usage,
            found.path.string(),
            {"it holds " + std::to_string(found.names.size()) +
                 " files of tensors of several kinds, and nothing says how they are cut: " + join(found.names, 4),
             "files of one kind, or a layout",
             "put those of one kind into a directory of their own " +
                 (counted == kinds.end() ? "(links will do)" : "(" + command_apart(found.path, counted->name) + ")") +
                 " and give that",
             without_draft(otherwise.advice)}};
  return {Kind::usage, found.path.string(), otherwise};
}

}  // namespace ckpt
