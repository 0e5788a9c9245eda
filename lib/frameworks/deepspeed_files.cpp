#include "frameworks/deepspeed_files.hpp"

#include <algorithm>
#include <regex>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "frameworks/only_word.hpp"

namespace ckpt::deepspeed {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view rank_word = "{dp}";
constexpr const char* universal_folder = "zero";

std::string two_digits(std::uint64_t number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

/// A model rank's number in a layout's paths: "{tp:02}".
std::string number_of_axis(const std::string& axis) {
  return "{" + axis + ":02}";
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool has_files_of_ranks(const fs::path& directory) {
  const auto names = names_in(directory);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return parse_file_name(name); });
}

/// Whether each data rank has its own model states, any of which may be missing. Where all share a file, ranks' files
/// beside it belong to another job unless they begin with the first rank.
bool has_model_of_each_rank(const std::vector<std::string>& names) {
  const auto is_there = [&](const char* name) { return std::binary_search(names.begin(), names.end(), name); };
  if (is_there("mp_rank_00_model_states.pt")) return is_there("zero_pp_rank_0_mp_rank_00_model_states.pt");
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    const auto file = parse_file_name(name);
    return file && !file->is_optimizer && file->data_rank;
  });
}

/// The tag that `latest` names; empty if it names none.
std::string latest_tag(const fs::path& directory) {
  const std::string tag = only_word(directory / latest_file);
  return fs::path(tag).filename() == tag && tag != "." && tag != ".." ? tag : "";
}

[[noreturn]] void refuse_parts(const fs::path& file, const std::string& found, const std::string& remedy) {
  throw Error(
      Kind::input, file.string(),
      {"found " + found, "one model rank and no experts, as DeepSpeed does not say how others are cut", remedy});
}

/// Refuses files, by name, whose sharding only a layout can describe.
void check_parts(const fs::path& directory, const std::string& name, bool has_model_axis) {
  const std::string whole = "give a layout that says it (layouts/deepspeed-zero2.json shows how)";
  static const std::regex expert(R"((expp_rank_|layer_\d+_expert_).*\.pt)");
  static const std::regex layer(R"(layer_\d+-model_.*\.pt)");
  if (std::regex_match(name, expert)) refuse_parts(directory / name, "experts, each in a file of its own", whole);
  if (std::regex_match(name, layer)) refuse_parts(directory / name, "the layers of a pipeline", whole);
  if (const auto file = parse_file_name(name); file && file->model_rank != 0 && !has_model_axis)
    refuse_parts(directory / name, "a file of a second model rank",
                 "give a layout of the weights' splits, without \"files\" (--layout)");
  std::error_code ignored;
  if (name == universal_folder && fs::is_directory(directory / name, ignored))
    throw Error(Kind::input, (directory / name).string(),
                {"found a universal checkpoint", "what save_checkpoint has written",
                 "take the checkpoint that it was made from"});
}

}  // namespace

std::optional<FileName> parse_file_name(const std::string& name) {
  static const std::regex form(
      R"((bf16_|fp16_)?(?:zero_pp_rank_(\d{1,9})_)?mp_rank_(\d{1,9})_(model|optim)_states\.pt)");
  std::smatch found;
  if (!std::regex_match(name, found, form)) return std::nullopt;
  FileName file{found[4] == "optim", found[1], std::nullopt, std::stoull(found[3])};
  if (found[2].matched) file.data_rank = std::stoull(found[2]);
  if (file.is_optimizer ? !file.data_rank : !file.precision.empty()) return std::nullopt;
  return file;
}

std::string TagFiles::path(const std::string& file, std::uint64_t data_rank, std::uint64_t model_rank) const {
  std::string name = file;
  if (const std::size_t at = name.find(rank_word); at != std::string::npos)
    name.replace(at, rank_word.size(), std::to_string(data_rank));
  const std::string model_word = number_of_axis(model_axis);
  if (const std::size_t at = name.find(model_word); at != std::string::npos)
    name.replace(at, model_word.size(), two_digits(model_rank));
  return folder + name;
}

bool has_tag(const fs::path& directory) {
  if (has_files_of_ranks(directory)) return true;
  const std::string tag = latest_tag(directory);
  return !tag.empty() && has_files_of_ranks(directory / tag);
}

TagFiles find_tag(const fs::path& directory, const std::string& model_axis) {
  TagFiles files;
  files.model_axis = model_axis;
  files.tag = fs::absolute(directory / "").lexically_normal().parent_path().filename().string();
  if (!has_files_of_ranks(directory)) {
    files.tag = latest_tag(directory);
    files.folder = files.tag + "/";
  }
  if (files.tag.find_first_of("{}") != std::string::npos)
    throw Error(
        Kind::input, (directory / files.folder).string(),
        {"found the tag \"" + files.tag + '"', "one without { and }, which stand for axes in a layout",
         std::string("rename its folder") + (files.folder.empty() ? "" : ", and in " + std::string(latest_file))});
  const fs::path place = directory / files.folder;
  const std::vector<std::string> names = names_in(place);
  std::set<std::string> precisions;
  for (const std::string& name : names) {
    check_parts(place, name, !model_axis.empty());
    const auto file = parse_file_name(name);
    if (!file) continue;
    files.model_ranks = std::max(files.model_ranks, file->model_rank + 1);
    if (file->data_rank) files.data_ranks = std::max(files.data_ranks, *file->data_rank + 1);
    if (!file->is_optimizer) continue;
    precisions.insert(file->precision);
    ++files.optimizer_files;
  }
  const std::string of_rank = "zero_pp_rank_" + std::string(rank_word) + "_";
  files.model_of_each_rank = has_model_of_each_rank(names);
  const std::string of_model = "mp_rank_" + (model_axis.empty() ? two_digits(0) : number_of_axis(model_axis));
  files.model = (files.model_of_each_rank ? of_rank : "") + of_model + "_model_states.pt";
  if (precisions.size() > 1)
    throw Error(Kind::input, place.string(),
                {"found optimizer files of several precisions", "those of one job", "remove those of another job"});
  if (!precisions.empty()) files.optimizer = *precisions.begin() + of_rank + of_model + "_optim_states.pt";
  return files;
}

}  // namespace ckpt::deepspeed
