#include "layout/names/card_files.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "layout/names/card_words.hpp"

namespace ckpt {

std::uint64_t CardFiles::count(const Mesh& mesh) const {
  std::uint64_t files = 0;
  for (std::size_t entry = 0; entry < entries_.size(); ++entry) files += count(mesh, entry);
  return files;
}

std::vector<std::size_t> CardFiles::axes(const Mesh& mesh, std::size_t entry) const {
  const auto named = entries_[entry].path.axes(mesh);
  const auto& apart = entries_[entry].apart;
  std::vector<std::size_t> axes;
  std::set_union(named.begin(), named.end(), apart.begin(), apart.end(), std::back_inserter(axes));
  return axes;
}

std::uint64_t CardFiles::count(const Mesh& mesh, std::size_t entry) const {
  return entries_[entry].apart.empty() ? entries_[entry].path.count(mesh) : mesh.combinations(axes(mesh, entry));
}

bool CardFiles::is_default() const {
  const FileEntry& first = entries_.front();
  return entries_.size() == 1 && first.prefix.empty() && first.group.empty() && first.path == FileTemplate();
}

std::vector<CardFiles::File> CardFiles::files(const Mesh& mesh) const {
  std::vector<File> files;
  for (std::size_t entry = 0; entry < entries_.size(); ++entry) {
    const auto named = axes(mesh, entry);
    const std::uint64_t combinations = count(mesh, entry);
    for (std::uint64_t number = 0; number < combinations; ++number)
      files.push_back({entry, mesh.position_of_combination(named, number)});
  }
  return files;
}

std::vector<std::string> CardFiles::paths(const Mesh& mesh) const {
  std::vector<std::string> paths;
  for (const File& file : files(mesh)) paths.push_back(path(mesh, file.position, file.entry));
  return paths;
}

std::optional<std::size_t> CardFiles::entry_of(const std::string& stored) const {
  for (std::size_t entry = 0; entry < entries_.size(); ++entry)
    if (entries_[entry].names.contains(stored)) return entry;
  for (std::size_t entry = 0; entry < entries_.size(); ++entry)
    if (!entries_[entry].group.empty() && stored.starts_with(entries_[entry].group)) return entry;
  std::optional<std::size_t> longest;
  for (std::size_t entry = 0; entry < entries_.size(); ++entry)
    if (entries_[entry].names.empty() && stored.starts_with(entries_[entry].prefix) &&
        (!longest || entries_[entry].prefix.size() > entries_[*longest].prefix.size()))
      longest = entry;
  return longest;
}

std::string CardFiles::name_within(const std::string& stored) const {
  const auto entry = entry_of(stored);
  return entry ? stored.substr(entries_[*entry].prefix.size()) : stored;
}

std::string CardFiles::stored_name(std::size_t entry, const std::string& name_within) const {
  std::string stored = entries_[entry].prefix + name_within;
  if (const auto by_name = entry_of(stored); by_name != entry)
    throw Error(
        Kind::input, "/" + name_within,
        {"an array that is called \"" + stored + "\" with its file's prefix, and the layout puts that name into \"" +
             entries_[*by_name].path.text() + "\", of prefix \"" + entries_[*by_name].prefix + "\"",
         "", "choose prefixes that none of the names begins with by itself"});
  return stored;
}

std::string CardFiles::name_in_file(const Mesh& mesh, std::uint64_t position, const std::string& stored) const {
  const auto entry = entry_of(stored);
  const std::string name = name_within(stored);
  return entry && !entries_[*entry].apart.empty() ? with_numbers_of_card(name, mesh, position) : name;
}

std::string CardFiles::place(const Mesh& mesh, std::uint64_t position, const std::string& stored) const {
  return path(mesh, position, entry_of(stored).value_or(0)) + ": /" + name_in_file(mesh, position, stored);
}

std::vector<std::size_t> CardFiles::shared_axes(const Mesh& mesh, std::size_t entry) const {
  const auto named = entries_[entry].path.axes(mesh);
  std::vector<std::size_t> shared;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if (mesh.shape[axis] > 1 && !std::binary_search(named.begin(), named.end(), axis)) shared.push_back(axis);
  return shared;
}

std::vector<std::size_t> CardFiles::shared_axes(const Mesh& mesh, std::size_t entry, const std::string& stored) const {
  auto shared = shared_axes(mesh, entry);
  if (entries_[entry].apart.empty()) return shared;
  const auto said = axes_of_words(stored, mesh);
  std::erase_if(shared, [&](std::size_t axis) { return std::binary_search(said.begin(), said.end(), axis); });
  return shared;
}

std::optional<CardFiles::Collision> CardFiles::collision(const Mesh& mesh) const {
  if (entries_.size() == 1 && entries_.front().path.is_decodable()) return std::nullopt;
  std::vector<std::pair<std::string, File>> named;
  for (const File& file : files(mesh)) {
    const auto shared = shared_axes(mesh, file.entry);  // along these axes one file counts as several
    if (std::all_of(shared.begin(), shared.end(),
                    [&](std::size_t axis) { return mesh.coordinate(file.position, axis) == 0; }))
      named.emplace_back(path(mesh, file.position, file.entry), file);
  }
  std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto same =
      std::adjacent_find(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same == named.end()) return std::nullopt;
  return Collision{same->second, std::next(same)->second};
}

}  // namespace ckpt
