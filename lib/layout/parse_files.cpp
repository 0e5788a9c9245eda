#include <set>

#include "layout/parse_sections.hpp"

namespace ckpt::parsing {

namespace {

constexpr std::size_t most_entries = 64;  // far above any framework

std::vector<FileEntry> parse_entries(const Node& node, const Mesh& mesh) {
  if (!node.is_list()) return {FileEntry{node.file_template(mesh), ""}};
  std::vector<FileEntry> entries;
  std::set<std::string> prefixes;
  for (const auto& item : node.items()) {
    item.check_keys({"path", "prefix"}, 1);
    FileEntry entry{item.member("path").file_template(mesh), ""};
    if (const auto prefix = item.find("prefix")) entry.prefix = prefix->text();
    if (!prefixes.insert(entry.prefix).second)
      item.fail("the prefix \"" + entry.prefix + "\" a second time", "another prefix for each entry",
                "it tells into which file a parameter is written");
    entries.push_back(std::move(entry));
    if (entries.size() > most_entries) node.fail("at most 64 entries");
  }
  if (entries.empty()) node.fail("a template, or a list of one entry at least");
  return entries;
}

}  // namespace

CardFiles parse_files(const Node& node, const Mesh& mesh) {
  CardFiles files(parse_entries(node, mesh));
  if (const auto same = files.collision(mesh))
    node.fail("\"" + files.path(mesh, same->first.position, same->first.entry) + "\" for card " +
                  std::to_string(mesh.card(same->first.position)) + " and for card " +
                  std::to_string(mesh.card(same->second.position)),
              "paths that differ", "tell coordinates apart by other text between them, and entries by their paths");
  return files;
}

}  // namespace ckpt::parsing
