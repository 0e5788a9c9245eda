#include "layout/names/card_names.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/names/literal.hpp"

namespace ckpt {

namespace {

constexpr const char* rest_word = "rest";

/// Returns "0 to 3", or the ids if they are not consecutive from 0.
std::string numbers_in_words(const CardWord& word, const Mesh& mesh) {
  if (!word.axis && !mesh.cards.empty()) return format_list(mesh.cards);
  const std::uint64_t count = word.axis ? mesh.shape[*word.axis] : mesh.size();
  return count == 1 ? "0" : "0 to " + std::to_string(count - 1);
}

std::optional<std::uint64_t> number_of(const std::string& digits) {
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> position_of_card(const Mesh& mesh, std::uint64_t card) {
  if (mesh.cards.empty()) return card < mesh.size() ? std::optional(card) : std::nullopt;
  const auto found = std::find(mesh.cards.begin(), mesh.cards.end(), card);
  if (found == mesh.cards.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - mesh.cards.begin());
}

/// Returns "tp=1" or "card 3".
std::string said_of(const CardPattern& pattern, const std::vector<std::string>& numbers, const Mesh& mesh) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto axis = pattern.words()[i].axis;
    words.push_back(axis ? mesh.axes[*axis] + "=" + numbers[i] : "card " + numbers[i]);
  }
  return join(words);
}

}  // namespace

CardNames::CardNames(const Layout& layout) : layout_(layout) {
  for (const FileEntry& entry : layout.files.entries())
    groups_.push_back(entry.group.empty()
                          ? std::nullopt
                          : CardPattern::parse(entry.group + "{" + rest_word + "}", layout.mesh, {rest_word}));
  for (const Rename& rename : layout.rename)
    renames_.push_back(rename.of_card.empty()
                           ? std::nullopt
                           : CardPattern::parse(rename.of_card, layout.mesh, rename.name.captures()));
  const auto is_any = [](const auto& patterns) {
    return std::any_of(patterns.begin(), patterns.end(), [](const auto& pattern) { return pattern.has_value(); });
  };
  is_empty_ = !is_any(groups_) && !is_any(renames_);
}

std::vector<std::string> CardNames::numbers_of(std::uint64_t position) const {
  std::vector<std::string> numbers;
  for (const auto* patterns : {&groups_, &renames_})
    for (const auto& pattern : *patterns)
      if (pattern)
        for (const CardWord& word : pattern->words()) numbers.push_back(word.number(layout_.mesh, position));
  return numbers;
}

/// Returns the position with these numbers, and with the file's own coordinates on the other axes.
std::optional<std::uint64_t> CardNames::position_of(const CardFiles::File& file, const CardPattern& pattern,
                                                    const std::vector<std::string>& numbers) const {
  const Mesh& mesh = layout_.mesh;
  std::uint64_t position = file.position;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = number_of(numbers[i]);
    if (!number) return std::nullopt;
    if (const auto axis = pattern.words()[i].axis) {
      if (*number >= mesh.shape[*axis]) return std::nullopt;
      position -= mesh.coordinate(position, *axis) * mesh.stride(*axis);
      position += *number * mesh.stride(*axis);
    } else {
      const auto of_card = position_of_card(mesh, *number);
      if (!of_card) return std::nullopt;
      position = *of_card;
    }
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (pattern.words()[i].number(mesh, position) != numbers[i]) return std::nullopt;
  return position;
}

bool CardNames::is_of(const CardFiles::File& file, const CardPattern& pattern, const std::vector<std::string>& numbers,
                      const std::string& name) const {
  const Mesh& mesh = layout_.mesh;
  const auto has_numbers = [&](std::uint64_t position) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (pattern.words()[i].number(mesh, position) != numbers[i]) return false;
    return true;
  };
  if (has_numbers(file.position)) return true;
  const std::string path = layout_.files.path(mesh, file.position, file.entry);
  const auto position = position_of(file, pattern, numbers);
  if (position && layout_.files.path(mesh, *position, file.entry) == path) return false;
  const bool is_filled = std::any_of(numbers.begin(), numbers.end(),
                                     [](const std::string& each) { return each.size() > 1 && each.front() == '0'; });
  const CardWord& word = pattern.words().front();
  throw Error(Kind::input, path + ": /" + name,
              {"by its name it is of " + said_of(pattern, numbers, mesh),
               position ? "names of the cards whose file it is"
                        : "numbers of the mesh of " + layout_.origin + " in the place of {" + word.text +
                              "}: " + numbers_in_words(word, mesh),
               is_filled ? "numbers with zeros in front are written {" + word.text.substr(0, word.text.find(':')) +
                               ":0N}, with N digits"
               : position ? "is each card's file its own?"
                          : "is the layout's mesh the one that the checkpoint was saved with?"});
}

std::optional<CardNames::Name> CardNames::of_card(const CardFiles::File& file, const std::string& name) const {
  if (is_empty_) return Name{name, name};
  const FileEntry& entry = layout_.files.entries()[file.entry];
  std::string group;
  std::string within = name;
  if (groups_[file.entry])
    if (auto found = groups_[file.entry]->match(name)) {
      if (!is_of(file, *groups_[file.entry], found->numbers, name)) return std::nullopt;
      group = entry.group;
      within = found->captures.at(rest_word);
    }
  std::string stored = entry.prefix + within;
  std::string value = within;
  for (std::size_t i = 0; i < renames_.size(); ++i) {
    if (!renames_[i]) {
      if (layout_.rename[i].stored.matches(stored)) break;
      continue;
    }
    const auto found = renames_[i]->match(stored);
    if (!found) continue;
    if (!is_of(file, *renames_[i], found->numbers, name)) return std::nullopt;
    if (!found->name.starts_with(entry.prefix))
      throw Error(Kind::layout, layout_.origin,
                  {"\"" + layout_.rename[i].of_card + "\" has {" + renames_[i]->words().front().text +
                       "} where the prefix \"" + entry.prefix + "\" of its files stands",
                   "it behind the prefix", ""});
    stored = found->name;
    value = layout_.rename[i].name.fill(found->captures);
    if (value.starts_with(entry.prefix)) value.erase(0, entry.prefix.size());
    break;
  }
  // An array whose name leaves an axis open is held once, at coordinate 0, like everything in files that cards share.
  const std::string alike = group + stored.substr(entry.prefix.size());
  for (const std::size_t axis : layout_.files.shared_axes(layout_.mesh, file.entry, alike))
    if (layout_.mesh.coordinate(file.position, axis) != 0) return std::nullopt;
  return Name{alike, value};
}

std::string first_card_name(const Layout& layout) {
  for (const FileEntry& entry : layout.files.entries())
    if (!entry.group.empty()) return entry.group;
  for (const Rename& rename : layout.rename)
    if (!rename.of_card.empty()) return rename.of_card;
  return {};
}

Layout with_plain_names(Layout layout) {
  if (first_card_name(layout).empty()) return layout;
  std::erase_if(layout.rename, [](const Rename& rename) { return !rename.of_card.empty(); });
  std::vector<FileEntry> entries;
  std::set<std::string> prefixes;
  for (FileEntry entry : layout.files.entries()) {
    if (!prefixes.insert(entry.prefix).second) continue;
    const auto named = entry.path.axes(layout.mesh);
    if (!std::includes(named.begin(), named.end(), entry.apart.begin(), entry.apart.end())) {
      const std::string path = entry.path.text();
      const std::size_t dot = path.find_last_of("./");
      const std::size_t end = dot == std::string::npos || path[dot] == '/' ? path.size() : dot;
      entry.path = FileTemplate(path.substr(0, end) + "_{card}" + path.substr(end), layout.mesh);
    }
    entry.group.clear();
    entry.apart.clear();
    entries.push_back(std::move(entry));
  }
  layout.files = CardFiles(std::move(entries));
  return layout;
}

}  // namespace ckpt
