#include "checkpoint/misnamed_files.hpp"

#include <charconv>
#include <set>
#include <system_error>
#include <vector>

#include "checkpoint/directory_hints.hpp"
#include "layout/names/name_groups.hpp"
#include "store/stores.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

/// The files directly in a directory that have a checkpoint format's ending.
std::vector<std::string> named_as_checkpoints(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::path& entry : sorted_entries(directory)) {
    const std::string name = entry.filename().string();
    std::error_code none;
    const bool is_plain = name.find_first_of("{}*") == std::string::npos;
    if (is_plain && format_by_ending(formats(), name) != nullptr && fs::is_regular_file(entry, none))
      names.push_back(name);
  }
  return names;
}

/// The template "checkpoint_{card}.ckpt" for checkpoint_0.ckpt to checkpoint_7.ckpt, if these are the cards; else
/// empty.
std::string template_of(const NameGroup& group, const Mesh& mesh) {
  const std::size_t mark = group.pattern.find('*');
  if (mark == std::string::npos || group.pattern.find('*', mark + 1) != std::string::npos) return "";
  const std::size_t behind = group.pattern.size() - mark - 1;
  std::set<std::uint64_t> cards;
  for (std::uint64_t position = 0; position < mesh.size(); ++position) cards.insert(mesh.card(position));
  std::size_t digits = 0;  // of numbers with leading zeros
  for (const std::string& name : group.names) {
    const std::string number = name.substr(mark, name.size() - mark - behind);
    std::uint64_t card = 0;
    const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), card);
    if (status != std::errc{} || end != number.data() + number.size() || cards.erase(card) == 0) return "";
    if (number.size() > 1 && number.front() == '0') digits = number.size();
  }
  if (!cards.empty()) return "";
  const std::string word = digits > 0 ? "{card:0" + std::to_string(digits) + "}" : "{card}";
  return std::string(group.pattern).replace(mark, 1, word);
}

}  // namespace

std::optional<Error> misnamed_files(const fs::path& directory, const Layout& layout, const std::string& expected) {
  std::string fitting;
  std::string example;
  for (const NameGroup& group : group_names(named_as_checkpoints(directory))) {
    const std::string text = template_of(group, layout.mesh);
    if (text.empty()) continue;
    if (!fitting.empty()) return std::nullopt;
    fitting = text;
    example = group.names.front();
  }
  if (fitting.empty()) return std::nullopt;
  const std::string line = "\"files\": \"" + fitting + "\"";
  Error::Text text{"it has " + example + " and others like it", expected + ", as " + layout.origin + " says", "", {}};
  if (layout.is_plan)
    text.advice = {Advice::What::print_layout, layout.origin + "\n" + line};
  else
    text.remedy = "say " + line + " in " + layout.origin;
  return Error(Kind::input, directory.string(), std::move(text));
}

}  // namespace ckpt
