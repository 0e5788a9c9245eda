#include "frameworks/megatron.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "frameworks/dcp.hpp"
#include "frameworks/only_word.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

constexpr const char* latest_file = "latest_checkpointed_iteration.txt";
constexpr std::size_t iteration_digits = 7;

/// The folder of the iteration that the text file names; empty if it names none.
std::string latest_folder(const fs::path& directory) {
  std::string iteration = only_word(directory / latest_file);
  if (iteration.empty() || iteration.size() > 2 * iteration_digits ||
      !std::all_of(iteration.begin(), iteration.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return "";
  if (iteration.size() < iteration_digits) iteration.insert(0, iteration_digits - iteration.size(), '0');
  return "iter_" + iteration;
}

/// Moves the paths of a layout's files into a folder of the directory.
CardFiles in_folder(const CardFiles& files, const std::string& folder, const Mesh& mesh) {
  FileTemplate::ByCard paths;
  for (std::uint64_t position = 0; position < mesh.size(); ++position)
    paths.emplace(mesh.card(position), folder + "/" + files.path(mesh, position));
  return CardFiles({{FileTemplate(std::move(paths), mesh), ""}});
}

}  // namespace

bool is_megatron_run(const fs::path& directory) {
  const std::string folder = latest_folder(directory);
  return !folder.empty() && is_dcp(directory / folder);
}

DirectoryDescription describe_megatron_run(const fs::path& directory, SourceStore& store) {
  const std::string folder = latest_folder(directory);
  log::info("{} names {}", latest_file, folder);
  DirectoryDescription described = describe_dcp(directory / folder, store);
  described.layout.files = in_folder(described.layout.files, folder, described.layout.mesh);
  for (DescribedFile& file : described.files) {
    file.name = folder + "/" + file.name;
    file.path = folder + "/" + file.path;
  }
  return described;
}

}  // namespace ckpt
