#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/text.hpp"
#include "inspect/panel.hpp"
#include "layout/names/name_groups.hpp"
#include "report/render.hpp"
#include "report/state_names.hpp"

namespace ckpt::cli {

namespace {

constexpr std::size_t most_homes = 8;

/// Panels that differ only in names and homes.
struct PanelGroup {
  Panel first;
  std::vector<std::string> stems;  ///< parallel to names
  std::vector<std::string> words;  ///< of the state, each once
  std::vector<std::string> names;
  std::vector<std::string> homes;  ///< parallel to names
};

bool look_alike(const Shard& a, const Shard& b) {
  return a.has_coordinates == b.has_coordinates && (a.has_coordinates ? a.label == b.label : a.cards == b.cards) &&
         differ_in_numbers(a.holds, b.holds);
}

bool look_alike(const Panel& a, const Panel& b) {
  return a.is_open == b.is_open && a.notes == b.notes && a.rows == b.rows && a.columns == b.columns &&
         a.slices == b.slices &&
         std::equal(a.shards.begin(), a.shards.end(), b.shards.begin(), b.shards.end(),
                    [](const Shard& x, const Shard& y) { return look_alike(x, y); });
}

/// The homes of a group's names, by their numbers: the same text for groups of the same layers and stages.
std::string homes_by_number(const PanelGroup& alike) {
  const std::vector<std::string> first = text_and_numbers(alike.names.front());
  std::vector<std::vector<std::string>> all;
  std::set<std::size_t> varying;
  for (const std::string& name : alike.names) {
    all.push_back(text_and_numbers(name));
    for (std::size_t i = 1; i < first.size(); i += 2)
      if (all.back()[i] != first[i]) varying.insert(i);
  }
  std::string text;
  for (std::size_t n = 0; n < all.size(); ++n) {
    for (const std::size_t i : varying) text += all[n][i] + " ";
    text += alike.homes[n] + "\n";
  }
  return text;
}

/// Adds a line for each home: "layers.0.w … layers.11.w (12) on pp=0".
void note_homes(PanelGroup& alike) {
  std::vector<std::string> homes;
  std::map<std::string, std::vector<std::string>> names;
  for (std::size_t i = 0; i < alike.names.size(); ++i) {
    if (names.count(alike.homes[i]) == 0) homes.push_back(alike.homes[i]);
    names[alike.homes[i]].push_back(alike.names[i]);
  }
  std::vector<std::string>& notes = alike.first.notes;
  for (std::size_t i = 0; i < homes.size() && i < most_homes; ++i) {
    const auto& here = names[homes[i]];
    std::string names_here = here.front();
    if (here.size() == 2) names_here += ", " + here.back();
    if (here.size() > 2) names_here += " … " + here.back() + " (" + with_commas(here.size()) + ")";
    notes.push_back(names_here + (homes[i].empty() ? "" : " on " + homes[i]));
  }
  if (homes.size() > most_homes)
    notes.push_back("… and " + counted(homes.size() - most_homes, "more set") + " of cards");
}

/// The homes that a picture has shown already: homes_by_number, mapped to the pattern of the first group there.
using HomePatterns = std::map<std::string, std::string>;

void note_places(PanelGroup& alike, const std::string& pattern, HomePatterns& said) {
  if (std::adjacent_find(alike.homes.begin(), alike.homes.end(), std::not_equal_to<>()) == alike.homes.end())
    return note_homes(alike);
  const auto [known, is_new] = said.try_emplace(homes_by_number(alike), pattern);
  if (is_new)
    note_homes(alike);
  else
    alike.first.notes.push_back("number by number on the cards of " + known->second + ", above");
  alike.first.notes.push_back("drawn with the cards of " + alike.names.front());
}

void add_once(std::vector<std::string>& texts, const std::string& text) {
  if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
}

Panel as_one(PanelGroup alike, HomePatterns& said) {
  if (alike.names.size() > 1) {
    const std::string pattern = with_words(group_names(alike.stems).front().pattern, alike.words);
    alike.first.title = pattern + " (" + with_commas(alike.names.size()) + " alike)";
    note_places(alike, pattern, said);
  } else if (!alike.first.home.empty()) {
    alike.first.notes.push_back("only on " + alike.first.home);
  }
  return std::move(alike.first);
}

/// Adds panels in the order of their names, of which those of states are stems; `make(i)` makes the i-th.
template <class Make>
void add_groups(std::vector<Panel>& panels, const std::vector<std::string>& names, HomePatterns& said,
                const Make& make) {
  std::multimap<std::string, std::size_t> numbers;
  for (std::size_t i = 0; i < names.size(); ++i) numbers.emplace(names[i], i);
  for (const NameGroup& group : group_names(names)) {
    std::vector<PanelGroup> looks;
    for (const std::string& stem : group.names) {
      auto known = numbers.extract(numbers.find(stem));
      Panel panel = make(known.mapped());
      auto found = std::find_if(looks.begin(), looks.end(),
                                [&](const PanelGroup& look) { return look_alike(look.first, panel); });
      if (found == looks.end()) found = looks.insert(looks.end(), {panel, {}, {}, {}, {}});
      for (const std::string& rule : panel.rules) add_once(found->first.rules, rule);
      found->names.push_back(panel.title);
      found->homes.push_back(panel.home);
      found->stems.push_back(stem);
      add_once(found->words, state_name(panel.title).word);
    }
    for (PanelGroup& look : looks) panels.push_back(as_one(std::move(look), said));
  }
}

Panel open_panel(const OpenParameter& parameter) {
  Panel panel;
  panel.title = parameter.name;
  panel.notes = {"open: the layout has no rule for it; stored are " + parameter.stored};
  panel.is_open = true;
  return panel;
}

}  // namespace

std::vector<Panel> panels_of(const Placement& placement, const std::vector<ParameterId>& parameters, bool whole_buckets,
                             const std::vector<OpenParameter>& open) {
  std::vector<ParameterId> alone;
  std::vector<std::string> names;
  std::vector<ArrayId> buckets;
  std::vector<std::string> bucket_names;
  std::set<ArrayId> seen;
  for (const ParameterId parameter : parameters) {
    const ArrayId array = placement.array_of(parameter);
    if (!whole_buckets || !placement.shardings()[parameter].bucket) {
      alone.push_back(parameter);
    } else if (seen.insert(array).second) {
      buckets.push_back(array);
      bucket_names.push_back(placement.arrays()[array].name);
    }
  }
  std::stable_partition(alone.begin(), alone.end(), [&](ParameterId parameter) {
    return !state_name(placement.tensors()[parameter].name).is_state;
  });
  for (const ParameterId parameter : alone) names.push_back(state_name(placement.tensors()[parameter].name).stem);
  std::vector<std::string> open_names;
  for (const OpenParameter& parameter : open) open_names.push_back(state_name(parameter.name).stem);
  std::vector<Panel> panels;
  HomePatterns said;
  add_groups(panels, names, said, [&](std::size_t i) { return parameter_panel(placement, alone[i]); });
  add_groups(panels, bucket_names, said, [&](std::size_t i) { return bucket_panel(placement, buckets[i]); });
  add_groups(panels, open_names, said, [&](std::size_t i) { return open_panel(open[i]); });
  return panels;
}

}  // namespace ckpt::cli
