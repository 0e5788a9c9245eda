#include <set>

#include "layout/language/form.hpp"
#include "layout/language/parse_sections.hpp"
#include "layout/names/card_names.hpp"

namespace ckpt::parsing {

namespace {

constexpr std::size_t most_entries = 64;  // far more than any framework uses

/// Checks a prefix that contains coordinates of the card, and so is a group of the file.
void check_group(const Node& node, const Mesh& mesh) {
  const std::string text = node.text();
  std::string words;
  for (const std::string& axis : mesh.axes) words += axis == "card" ? "" : ", {" + axis + "}";
  const bool is_plain = text.find_first_of("*?[]") == std::string::npos;
  for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    const std::size_t close = text.find('}', open);
    const std::string inside = text.substr(open + 1, close == std::string::npos ? close : close - open - 1);
    if (close == std::string::npos || !is_plain || !with_context(node.place(), [&] { return card_word(inside, mesh); }))
      node.fail("the prefix \"" + text + "\"", "in braces a coordinate of the card: {card}" + words,
                "the group of the file in which the card's arrays lie is meant, as in \"rank_{card}/\"");
  }
}

const Form<FileTemplate>& path_form() {
  static const auto form = Form<FileTemplate>{
      described(
          "A path relative to the checkpoint's directory: {card}, {card:05}, {AXIS}; or the path of each card, by "
          "its id.",
          R"("oneOf": [{"type": "string", "pattern": "^(?!/)(?!checkpoint\\.json(/|$))(?!(.*/)?\\.{0,2}(/|$)))"
          R"(([^{}\\u0000]|\\{[A-Za-z_][A-Za-z0-9_.-]*(:0([1-9]|1[0-9]|20))?\\})+$"}, )"
          R"({"type": "object", "patternProperties": {"^(0|[1-9][0-9]*)$": {"type": "string", )"
          R"("pattern": "^(?!/)(?!checkpoint\\.json(/|$))(?!(.*/)?\\.{0,2}(/|$))[^\\u0000]+$"}}, )"
          R"("additionalProperties": false, "minProperties": 1}])"),
      [](const Node& node, const Mesh& mesh) { return node.file_template(mesh); },
      [](const FileTemplate& path, const Mesh&) {
        if (path.by_card() == nullptr) return json_string(path.text());
        return members(*path.by_card(), json_string);
      }}.named("file");
  return form;
}

void parse_prefix(const Node& node, const Mesh& mesh, FileEntry& entry) {
  const std::string prefix = node.text();
  const bool is_group = prefix.find('{') != std::string::npos;
  if (is_group) check_group(node, mesh);
  (is_group ? entry.group : entry.prefix) = prefix;
}

std::string prefix_of(const FileEntry& entry, const Mesh& /*mesh*/) {
  const std::string& prefix = entry.group.empty() ? entry.prefix : entry.group;
  return prefix.empty() ? "" : json_string(prefix);
}

const Form<FileEntry>& entry_form() {
  static const auto form =
      ObjectForm<FileEntry>()
          .required("path", &FileEntry::path, path_form())
          .add(
              {"prefix", false,
               described("What stands before the names in these files; with {card} or {AXIS}: the group of the file in "
                         "which a card's arrays lie.",
                         text().schema),
               parse_prefix, prefix_of})
          .form();
  return form;
}

std::vector<FileEntry> parse_entries(const Node& node, const Mesh& mesh) {
  if (!node.is_list()) return {FileEntry{path_form().read(node, mesh), ""}};
  std::vector<FileEntry> entries;
  std::set<std::string> prefixes;
  for (const auto& item : node.items()) {
    entries.push_back(entry_form().read(item, mesh));
    const std::string prefix = entries.back().prefix + entries.back().group;
    if (!prefixes.insert(prefix).second)
      item.fail("the prefix \"" + prefix + "\" a second time", "another prefix for each entry",
                "it tells into which file a parameter is written");
    if (entries.size() > most_entries) node.fail("at most 64 entries");
  }
  if (entries.empty()) node.fail("a template, or a list of one entry at least");
  return entries;
}

CardFiles parse_files(const Node& node, const Mesh& mesh) {
  CardFiles files(parse_entries(node, mesh));
  if (const auto same = files.collision(mesh))
    node.fail("\"" + files.path(mesh, same->first.position, same->first.entry) + "\" for card " +
                  std::to_string(mesh.card(same->first.position)) + " and for card " +
                  std::to_string(mesh.card(same->second.position)),
              "paths that differ", "tell coordinates apart by other text between them, and entries by their paths");
  return files;
}

std::string files_of(const CardFiles& files, const Mesh& mesh) {
  const auto& entries = files.entries();
  if (entries.size() == 1 && prefix_of(entries.front(), mesh).empty())
    return path_form().write(entries.front().path, mesh);
  return lines(entries, [&](const FileEntry& entry) { return entry_form().write(entry, mesh); });
}

}  // namespace

const Form<CardFiles>& files_form() {
  static const Form<CardFiles> form{"\"oneOf\": [{" + path_form().schema + "}, {" +
                                        list_schema(entry_form().schema, R"("minItems": 1, "maxItems": 64)") + "}]",
                                    parse_files, files_of};
  return form;
}

void note_card_names(const Node& root, Layout& layout) {
  std::vector<FileEntry> entries = layout.files.entries();
  const std::string first = first_card_name(layout);
  if (first.empty()) return;
  if (!layout.tables.empty())
    root.fail("coordinates of cards in \"" + first + "\"", "names that are alike on all servers beside \"tables\"",
              "a server's part of a table lies in its file under the table's name");
  for (FileEntry& entry : entries) {
    std::set<Axis> apart;
    const auto add = [&](const std::string& text) {
      const auto axes = axes_of_words(text, layout.mesh);
      apart.insert(axes.begin(), axes.end());
    };
    add(entry.group);
    for (const Rename& rename : layout.rename)
      if (const auto pattern = CardPattern::parse(rename.of_card, layout.mesh, rename.name.captures()))
        for (const CardWord& word : pattern->words()) add("{" + word.text + "}");
    entry.apart.assign(apart.begin(), apart.end());
  }
  layout.files = CardFiles(std::move(entries));
}

}  // namespace ckpt::parsing
