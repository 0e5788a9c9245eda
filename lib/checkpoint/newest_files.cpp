#include "checkpoint/newest_files.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/misnamed_files.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view card_word = "{card}";
constexpr std::string_view rank_folder = "rank_";
constexpr std::string_view own_ending = ".ckpt";
constexpr std::string_view other_ending = ".safetensors";

using Names = std::vector<std::vector<std::string>>;

bool is_decimal_digit(char c) {
  return c >= '0' && c <= '9';
}

/// All ways to replace by {card} some of the numbers in a name that equal the card's; the unchanged name comes first.
std::vector<std::string> templates_of(const std::string& name, std::uint64_t card) {
  constexpr std::size_t most_ways = 64;
  std::vector<std::string> ways{""};
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at + 1;
    if (is_decimal_digit(name[at])) end = std::min(name.find_first_not_of("0123456789", at), name.size());
    const std::string piece = name.substr(at, end - at);
    const std::size_t count = ways.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (piece == std::to_string(card) && ways.size() < most_ways) ways.push_back(ways[i] + std::string(card_word));
      ways[i] += piece;
    }
    at = end;
  }
  return ways;
}

std::string name_on(std::string text, std::uint64_t card) {
  for (std::size_t at = text.find(card_word); at != std::string::npos; at = text.find(card_word, at))
    text.replace(at, card_word.size(), std::to_string(card));
  return text;
}

/// Epoch and step of "net-1_10.ckpt", and the name without them.
struct SavedStep {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::string others;
  auto when() const { return std::tie(epoch, step); }
};

std::optional<SavedStep> saved_step(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos) return std::nullopt;
  SavedStep age;
  const char* const end = name.data() + name.size();
  const auto epoch = std::from_chars(name.data() + dash + 1, end, age.epoch);
  if (epoch.ec != std::errc() || epoch.ptr == end || *epoch.ptr != '_') return std::nullopt;
  const auto step = std::from_chars(epoch.ptr + 1, end, age.step);
  if (step.ec != std::errc()) return std::nullopt;
  age.others = name.substr(0, dash) + std::string(step.ptr, end);
  return age;
}

std::string some_names(const std::vector<std::string>& names) {
  return names.empty() ? "none" : join(names, 4);
}

/// Names that every card has, with {card} for the card's number.
std::vector<std::string> common_names(const Mesh& mesh, const Names& names) {
  std::vector<std::set<std::string>> sets;
  for (const auto& each : names) sets.emplace_back(each.begin(), each.end());
  // The largest number is the least likely to mean something else in a name.
  const std::uint64_t last = mesh.by_card().back();
  std::vector<std::string> common;
  for (const std::string& name : names[last])
    for (const std::string& text : templates_of(name, mesh.card(last))) {
      const auto has = [&](std::uint64_t position) {
        return sets[position].contains(name_on(text, mesh.card(position)));
      };
      bool have_all = true;
      for (std::uint64_t position = 0; have_all && position < names.size(); ++position) have_all = has(position);
      if (!have_all) continue;
      common.push_back(text);
      break;
    }
  return common;
}

[[noreturn]] void refuse_names(const std::string& text, const Mesh& mesh, const Names& names) {
  for (std::uint64_t position = 0; position < names.size(); ++position)
    if (names[position].empty())
      throw Error(Kind::input, name_on(text, mesh.card(position)),
                  {"no such file", "one for each of " + std::to_string(names.size()) + " cards",
                   "is the checkpoint complete, and the layout's mesh the one that it was saved with?"});
  throw Error(
      Kind::input, text,
      {"no name that all cards have: card " + std::to_string(mesh.card(0)) + " has " + some_names(names.front()) +
           ", card " + std::to_string(mesh.card(names.size() - 1)) + " has " + some_names(names.back()),
       "names that differ in the card's number alone", "is the checkpoint complete?"});
}

/// The advice to replace a name with *, which a strategy always has, by a layout that says which files are meant.
std::string advise_layout(const std::string& example) {
  return "move away what is not meant, or say in a layout which is (that of a strategy: ckpt inspect --as-layout "
         "STRATEGY): \"files\": " +
         example;
}

/// The newest of several names that all cards have.
std::string newest_of(const std::vector<std::string>& common, const std::string& text) {
  std::optional<SavedStep> newest;
  std::string chosen;
  bool is_tie = false;
  for (const std::string& name : common) {
    const auto age = saved_step(name);
    const bool is_comparable = age && (!newest || newest->others == age->others);
    if (is_comparable && newest && age->when() < newest->when()) continue;
    is_tie = !is_comparable || (newest && age->when() == newest->when());
    if (is_tie) break;
    newest = age;
    chosen = name;
  }
  if (is_tie)
    throw Error(Kind::input, text,
                {"several checkpoints: " + join(common),
                 "one, or names that end in epoch and step (-1_10), of which one is the newest",
                 advise_layout("\"" + text.substr(0, text.rfind('/') + 1) + common.back() + "\"")});
  return chosen;
}

/// How another name of a card compares to the chosen one.
enum class NameOrder { older, unknown, rival };

NameOrder standing_of(const std::string& other, const std::string& chosen) {
  const auto mine = saved_step(chosen);
  const auto theirs = saved_step(other);
  if (!mine || !theirs) return NameOrder::unknown;
  const auto series = [](const SavedStep& age) { return age.others.substr(0, age.others.rfind('.')); };
  return series(*mine) == series(*theirs) && theirs->when() < mine->when() ? NameOrder::older : NameOrder::rival;
}

/// The files that are passed over in favour of `path`, each with its folder.
std::vector<std::string> passed_over(const std::string& path, const Mesh& mesh, const Names& names,
                                     const Names& others) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::set<std::string> passed;
  for (std::uint64_t position = 0; position < names.size(); ++position) {
    const std::string chosen = name_on(path.substr(folder.size()), mesh.card(position));
    std::vector<std::string> beside = names[position];
    if (!others.empty()) beside.insert(beside.end(), others[position].begin(), others[position].end());
    for (const std::string& other : beside) {
      if (other == chosen) continue;
      if (standing_of(other, chosen) == NameOrder::rival)
        throw Error(Kind::input, name_on(folder, mesh.card(position)) + other,
                    {"card " + std::to_string(mesh.card(position)) + " has it beside " + chosen +
                         ", the newest that all cards have",
                     "names of one series, of which all cards have the newest",
                     advise_layout("\"" + path + "\", or by the cards' ids, {\"" + std::to_string(mesh.card(position)) +
                                   "\": \"" + name_on(folder, mesh.card(position)) + other + "\", ...}")});
      passed.insert(name_on(folder, mesh.card(position)) + other);
    }
  }
  std::vector<std::string> sorted(passed.begin(), passed.end());
  std::sort(sorted.begin(), sorted.end(), natural_less);
  return sorted;
}

/// Names of files with this ending in a directory.
std::vector<std::string> names_in(const fs::path& directory, std::string_view ending) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    std::string name = entry.path().filename().string();
    const bool is_plain = name.find_first_of("{}*") == std::string::npos;
    if (name.ends_with(ending) && is_plain && entry.is_regular_file(error)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

/// For each position, the names that match the template on any process.
Names names_of_cards(const std::string& text, const Mesh& mesh, const fs::path& directory, std::string_view ending,
                     Communicator& processes) {
  const FileTemplate pattern(text, mesh);
  Names mine(mesh.size());
  agree(processes, [&] {
    for (std::uint64_t position = 0; position < mesh.size(); ++position)
      mine[position] = names_in((directory / pattern.path(mesh, position)).parent_path(), ending);
  });
  std::vector<std::set<std::string>> all(mesh.size());
  for (const Names& each : gather_all(mine, processes))
    for (std::uint64_t position = 0; position < mesh.size(); ++position)
      all[position].insert(each[position].begin(), each[position].end());
  Names names;
  for (const auto& of_card : all) names.emplace_back(of_card.begin(), of_card.end());
  return names;
}

/// Tensor files that match the template except for its ending, and so cannot be candidates.
std::vector<std::string> of_other_formats(const std::string& text, const Mesh& mesh, const fs::path& directory,
                                          Communicator& processes) {
  const std::string ending = text.substr(text.find('*') + 1);
  std::vector<std::string> found;
  for (const std::string_view other : {own_ending, other_ending, std::string_view(".h5"), std::string_view(".pt")}) {
    if (other == ending || (ending == own_ending && other == other_ending)) continue;
    const Names names = names_of_cards(text, mesh, directory, other, processes);
    for (std::uint64_t position = 0; position < names.size(); ++position)
      for (const std::string& name : names[position])
        found.push_back(name_on(text.substr(0, text.rfind('/') + 1), mesh.card(position)) + name);
  }
  std::sort(found.begin(), found.end(), natural_less);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// The numbers of rank_N directories that belong to no card, as any process sees them.
std::set<std::uint64_t> other_ranks(const Mesh& mesh, const fs::path& directory, Communicator& processes) {
  std::set<std::uint64_t> cards;
  for (std::uint64_t position = 0; position < mesh.size(); ++position) cards.insert(mesh.card(position));
  std::vector<std::uint64_t> mine;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    std::uint64_t rank = 0;
    if (!name.starts_with(rank_folder)) continue;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + rank_folder.size(), end, rank);
    if (read.ec == std::errc() && read.ptr == end && !cards.contains(rank)) mine.push_back(rank);
  }
  return of_all(mine, processes);
}

/// Reports cards that the layout does not know: it may describe only one stage of a pipeline.
void check_others(const Layout& layout, const fs::path& directory, Communicator& processes) {
  const auto others = other_ranks(layout.mesh, directory, processes);
  const bool is_chosen = !layout.mesh.cards.empty() && !layout.is_plan;  // "cards" in JSON means to take some only
  if (others.empty()) {
    agree(processes, [&] {
      if (layout.is_plan && !layout.mesh.cards.empty())
        throw Error(
            Kind::input, layout.origin,
            {"it is the strategy of one pipeline stage, from card " + std::to_string(layout.mesh.cards.front()) + " on",
             "those of all stages, else their part of the model is left out",
             "give the directory with the strategies of all stages; to take this stage alone, give its layout in JSON: "
             "ckpt inspect --as-layout " +
                 layout.origin + " > stage.json"});
    });
    return;
  }
  const std::string found = std::string(rank_folder) + std::to_string(*others.begin()) +
                            (others.size() > 1 ? " and " + std::to_string(others.size() - 1) + " more" : "");
  if (is_chosen) {
    log::warn("{} does not name {} in {}, which are left out", layout.origin, found, directory.string());
    return;
  }
  agree(processes, [&] {
    throw Error(Kind::input, directory.string(),
                {found + " of cards that " + layout.origin + " has not", std::to_string(layout.mesh.size()) + " cards",
                 "is it the strategy of one pipeline stage? Give the directory with the strategies of all stages"});
  });
}

}  // namespace

NewestName newest_name(const std::string& text, const Mesh& mesh, const Names& names, const Names& others) {
  const std::vector<std::string> common = common_names(mesh, names);
  if (common.empty()) refuse_names(text, mesh, names);
  NewestName newest;
  newest.path = text.substr(0, text.rfind('/') + 1) + (common.size() == 1 ? common.front() : newest_of(common, text));
  const std::vector<std::string> passed = passed_over(newest.path, mesh, names, others);
  if (common.size() > 1)
    newest.said = "of " + std::to_string(common.size()) + " checkpoints the newest is read: " + newest.path;
  else if (!passed.empty())
    newest.said = newest.path + " is read";
  if (!passed.empty()) newest.said += "; passed over: " + join(passed, 4);
  return newest;
}

Layout with_newest_files(Layout layout, const fs::path& directory, Communicator& processes) {
  std::vector<FileEntry> entries = layout.files.entries();
  for (FileEntry& entry : entries) {
    if (entry.path.by_card() != nullptr) continue;
    std::string text = entry.path.text();
    const std::size_t star = text.find('*');
    if (star == std::string::npos) continue;
    if (star != text.rfind('/') + 1 || text.find('*', star + 1) != std::string::npos)
      throw Error(Kind::layout, layout.origin,
                  {"the file name " + text, "* for a whole name, as in rank_{card}/*.ckpt", ""});
    check_others(layout, directory, processes);
    const std::string ending = text.substr(star + 1);
    Names names = names_of_cards(text, layout.mesh, directory, ending, processes);
    const bool has_none = std::all_of(names.begin(), names.end(), [](const auto& each) { return each.empty(); });
    Names others;  // which "*.ckpt" could have meant as well
    if (ending == own_ending) others = names_of_cards(text, layout.mesh, directory, other_ending, processes);
    if (has_none) std::swap(names, others);
    const std::vector<std::string> beside = of_other_formats(text, layout.mesh, directory, processes);
    agree(processes, [&] {
      if (std::all_of(names.begin(), names.end(), [](const auto& each) { return each.empty(); }))
        if (auto elsewhere = misnamed_files(directory, layout, text)) throw std::move(*elsewhere);
      NewestName newest = newest_name(text, layout.mesh, names, others);
      if (!beside.empty())
        newest.said += (newest.said.empty() ? newest.path + " is read" : "") +
                       "; passed over, of other formats: " + join(beside, 4);
      if (processes.rank() == 0 && !newest.said.empty()) log::info(newest.said);
      entry.path = FileTemplate(newest.path, layout.mesh);
    });
  }
  layout.files = CardFiles(std::move(entries));
  return layout;
}

}  // namespace ckpt
