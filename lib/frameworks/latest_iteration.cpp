#include "frameworks/latest_iteration.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "frameworks/only_word.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_digits = 16;

/// Moves the paths of a layout's files into a folder of the directory.
CardFiles in_folder(const CardFiles& files, const std::string& folder, const Mesh& mesh) {
  FileTemplate::ByCard paths;
  for (std::uint64_t position = 0; position < mesh.size(); ++position)
    paths.emplace(mesh.card(position), folder + "/" + files.path(mesh, position));
  return CardFiles({{FileTemplate(std::move(paths), mesh), ""}});
}

}  // namespace

std::string latest_iteration(const std::filesystem::path& directory, const std::string& prefix, std::size_t digits) {
  std::string iteration = only_word(directory / latest_iteration_file);
  if (iteration.empty() || iteration.size() > most_digits ||
      !std::all_of(iteration.begin(), iteration.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return "";
  if (iteration.size() < digits) iteration.insert(0, digits - iteration.size(), '0');
  return prefix + iteration;
}

DirectoryDescription described_in(const std::string& folder, DirectoryDescription described) {
  log::info("{} names {}", latest_iteration_file, folder);
  described.layout.files = in_folder(described.layout.files, folder, described.layout.mesh);
  for (DescribedFile& file : described.files) {
    file.name = folder + "/" + file.name;
    file.path = folder + "/" + file.path;
  }
  return described;
}

}  // namespace ckpt
