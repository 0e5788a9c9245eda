#include "jobs/types/selection.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/shell_word.hpp"
#include "jobs/types/name_mapping.hpp"
#include "layout/language/change_layout.hpp"
#include "layout/names/better_pattern.hpp"

namespace ckpt {

namespace {

/// Whether NEW is OLD without some letters: "module.{x}={x}", "{a}_orig_mod.{b}={a}{b}".
bool only_takes_text_out(const Rename& rename) {
  const std::string& before = rename.stored.text();
  const std::string& after = rename.name.text();
  if (after.size() >= before.size()) return false;
  const auto differs = std::mismatch(after.rbegin(), after.rend(), before.rbegin()).first;
  const auto kept = static_cast<std::size_t>(after.rend() - differs);  // before the removed text
  const std::string taken = before.substr(kept, before.size() - after.size());
  return before.compare(0, kept, after, 0, kept) == 0 && taken.find_first_of("{}*?[]") == std::string::npos &&
         std::any_of(taken.begin(), taken.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
}

/// Whether captures are at both ends, so that a name may contain the text several times: nested wrappers.
bool is_between_captures(const Pattern& pattern) {
  return pattern.text().front() == '{' && pattern.text().back() == '}';
}

}  // namespace

void NameChoice::take_mapping(std::shared_ptr<const NameMapping> the_mapping) {
  mapping = std::move(the_mapping);
  const auto take = [&](std::vector<Pattern>& from, std::vector<SidePattern>& to) {
    std::erase_if(from, [&](const Pattern& pattern) {
      const std::size_t colon = pattern.text().find(':');
      std::string side = pattern.text().substr(0, colon);
      const bool is_of_side = colon != std::string::npos && mapping && mapping->has_side(side);
      if (is_of_side) to.push_back({std::move(side), Pattern(pattern.text().substr(colon + 1))});
      return is_of_side;
    });
  };
  take(only, only_of_side);
  take(drop, drop_of_side);
}

bool NameChoice::may_name_sides() const {
  const auto has_colon = [](const Pattern& pattern) { return pattern.text().find(':') != std::string::npos; };
  return std::ranges::any_of(only, has_colon) || std::ranges::any_of(drop, has_colon);
}

bool NameChoice::is_kept(const std::string& side, const std::string& name, bool is_source) const {
  const auto matches = [&](const SidePattern& each) { return each.side == side && each.names.matches(name); };
  const auto is_of_side = [&](const SidePattern& each) { return each.side == side; };
  if (std::ranges::any_of(drop_of_side, matches)) return false;
  const bool is_limited = std::ranges::any_of(only_of_side, is_of_side) || (is_source && !only.empty());
  return !is_limited || std::ranges::any_of(only_of_side, matches) ||
         (is_source && std::ranges::any_of(only, [&](const Pattern& pattern) { return pattern.matches(name); }));
}

NameFilter::NameFilter(const NameChoice& choice)
    : choice_(choice),
      takes_all_(choice.only.empty() || !choice.only_of_side.empty()),
      only_(PatternIndex::of(choice.only)),
      drop_(PatternIndex::of(choice.drop)),
      rename_(PatternIndex::of(choice.rename, &Rename::stored)) {
  for (const Rename& each : choice.rename) takes_text_out_.push_back(only_takes_text_out(each));
}

std::string NameFilter::new_name(const std::string& logical_name) const {
  std::string name = logical_name;
  bool is_shortened = false;
  for (auto found = rename_.first(name); found;) {
    const std::size_t at = *found;
    const bool counts = !is_shortened || takes_text_out_[at];
    if (counts) name = choice_.rename[at].name.fill(*rename_.pattern(at).match(name));
    if (!takes_text_out_[at] && counts) break;
    is_shortened = true;
    const bool again = counts && is_between_captures(rename_.pattern(at));
    found = rename_.first(name, again ? at : at + 1);
  }
  return name;
}

NewName new_name_of(const NameChoice& choice) {
  if (choice.takes_all() && choice.rename.empty()) return {};
  const auto kept = std::make_shared<const NameChoice>(choice);
  return [kept, name_filter = std::make_shared<const NameFilter>(*kept)](const std::string& name) {
    return name_filter->is_kept(name) ? std::optional(name_filter->new_name(name)) : std::nullopt;
  };
}

std::vector<bool> without_tables(std::vector<bool> is_taken, const Placement& source) {
  for (ParameterId parameter = 0; parameter < is_taken.size(); ++parameter)
    if (source.layout().table_arrays.contains(source.tensors()[parameter].name)) is_taken[parameter] = false;
  return is_taken;
}

namespace {

std::size_t place_of(std::string_view name, const std::vector<Tensor>& tensors) {
  const auto at = std::lower_bound(tensors.begin(), tensors.end(), name,
                                   [](const Tensor& tensor, std::string_view other) { return tensor.name < other; });
  return static_cast<std::size_t>(at - tensors.begin());
}

}  // namespace

std::optional<std::size_t> Selection::find(std::string_view name) const {
  const std::size_t at = place_of(name, tensors);
  return at < tensors.size() && tensors[at].name == name ? std::optional(at) : std::nullopt;
}

void Selection::insert(Tensor tensor, ParameterId from) {
  const auto at = static_cast<std::ptrdiff_t>(place_of(tensor.name, tensors));
  tensors.insert(tensors.begin() + at, std::move(tensor));
  source_of.insert(source_of.begin() + at, from);
  if (!links.empty()) links.insert(links.begin() + at, nullptr);
}

namespace {

struct TensorChoice {
  Tensor tensor;
  ParameterId from;
  std::shared_ptr<const TensorLinks> links;
  InternedText before;  ///< its name before `rename`
  bool is_state = false;
};

MapSource taken(const NameChoice& choice, const NameFilter& name_filter, const Placement& source) {
  MapSource taken;
  for (ParameterId parameter = 0; parameter < source.tensors().size(); ++parameter)
    if (const Tensor& tensor = source.tensors()[parameter]; name_filter.is_kept(tensor.name))
      taken.tensors.emplace_back(tensor, parameter);
  if (choice.names_sides() && !taken.tensors.empty()) {
    const auto [side, of_output] = choice.mapping->sides_of(taken);
    if (side != of_output)
      std::erase_if(taken.tensors, [&](const auto& each) { return !choice.is_kept(side, each.first.name, true); });
  }
  taken.has_weights = !choice.has_only();
  taken.are_all = choice.only.empty() && choice.drop.empty() && taken.tensors.size() == source.tensors().size();
  return taken;
}

void refuse_two_sides(const NameChoice& choice, const std::array<std::string, 2>& sides) {
  for (const SidePattern& each : choice.only_of_side)
    if (std::ranges::find(sides, each.side) == sides.end())
      throw Error(Kind::usage, "--only " + shell_word(each.side + ":" + each.names.text()),
                  {"a side that neither source nor output has",
                   "names of \"" + sides[0] + "\"" + (sides[0] == sides[1] ? "" : " or \"" + sides[1] + "\""), ""});
  const auto of_output = std::ranges::find(choice.only_of_side, sides[1], &SidePattern::side);
  const bool has_others =
      !choice.only.empty() ||
      std::ranges::any_of(choice.only_of_side, [&](const SidePattern& each) { return each.side == sides[0]; });
  if (of_output == choice.only_of_side.end() || !has_others || sides[0] == sides[1]) return;
  throw Error(Kind::usage, "--only",
              {"names of \"" + sides[0] + "\", the source's, and of \"" + sides[1] + "\", the output's",
               "those of one side", "write all for one side; --drop takes both"});
}

std::vector<TensorChoice> chosen_of(const NameChoice& choice, const NameFilter& name_filter, const Placement& source,
                                    Selection& selection) {
  const MapSource kept = taken(choice, name_filter, source);
  std::vector<TensorChoice> chosen;
  chosen.reserve(kept.tensors.size());
  if (!choice.mapping) {
    for (const auto& [tensor, parameter] : kept.tensors) chosen.push_back({tensor, parameter, {}, tensor.name});
    return chosen;
  }
  if (kept.tensors.empty()) return chosen;
  std::function<bool(const std::string&)> is_kept;
  if (choice.names_sides()) {
    selection.sides = choice.mapping->sides_of(kept);
    refuse_two_sides(choice, selection.sides);
    is_kept = [&, is_source = selection.sides[0] == selection.sides[1]](const std::string& name) {
      selection.made.push_back(name);
      return choice.is_kept(selection.sides[1], name, is_source);
    };
  }
  MappedTensors mapped = choice.mapping->convert(kept, is_kept);
  std::ranges::sort(selection.made);  // a rule asks once for each of its tensors
  selection.made.erase(std::ranges::unique(selection.made).begin(), selection.made.end());
  for (std::size_t i = 0; i < mapped.tensors.size(); ++i)
    chosen.push_back({mapped.tensors[i], mapped.origins[i].first, mapped.origins[i].links, mapped.tensors[i].name,
                      mapped.origins[i].is_state});
  selection.recut_states = std::move(mapped.recut_states);
  selection.equal = std::move(mapped.equal);
  selection.notes = notes_of(mapped);
  selection.map = std::move(mapped.by);
  return chosen;
}

/// The one of two names that become the same which no rule renames, as a rule for it may stand anywhere; else the
/// second.
std::string to_rename(const NameChoice& choice, const std::string& one, const std::string& other) {
  const auto is_renamed = [&](const std::string& name) {
    return std::ranges::any_of(choice.rename, [&](const Rename& each) { return each.stored.matches(name); });
  };
  return is_renamed(one) || !is_renamed(other) ? other : one;
}

/// Takes each chosen tensor from its source in `masters`.
void take_masters(const std::map<std::string, std::string>& masters, const NameChoice& choice, const Placement& source,
                  Selection& selection) {
  const NameFilter name_filter(choice);
  for (const auto& [name, of] : masters) {
    const auto from = name_filter.is_kept(name) ? source.find(of) : std::nullopt;
    if (!from) continue;
    Tensor tensor = source.tensors()[*from];
    tensor.name = name_filter.new_name(name);
    const auto known = selection.find(tensor.name);
    if (!known) {
      selection.insert(std::move(tensor), *from);
      continue;
    }
    if (const std::string& other = source.tensors()[selection.source_of[*known]].name; other != name)
      throw Error(Kind::usage, "",
                  {"'" + other + "' and '" + name + "' both become '" + tensor.name + "'",
                   "one name for each parameter",
                   "",
                   {Advice::What::rename, to_rename(choice, other, name)}});
    selection.tensors[*known] = std::move(tensor);
    selection.source_of[*known] = *from;
  }
}

}  // namespace

MapSource taken_by_map(const NameChoice& choice, const Placement& source) {
  return taken(choice, NameFilter(choice), source);
}

Selection select(const NameChoice& choice, const Placement& source, const std::map<std::string, std::string>& masters) {
  const NameFilter name_filter(choice);
  Selection selection;
  std::vector<TensorChoice> chosen = chosen_of(choice, name_filter, source, selection);
  for (TensorChoice& each : chosen) each.tensor.name = name_filter.new_name(each.tensor.name);
  if (chosen.empty() && !choice.takes_all()) {
    std::vector<std::string> names;
    for (const Tensor& tensor : source.tensors()) names.push_back(tensor.name.str());
    std::string nearest;
    if (!choice.only_of_side.empty()) {
      const auto& [side, pattern] = choice.only_of_side.front();
      nearest = better_pattern(pattern, side == selection.sides[1] ? selection.made : names, side + ":");
    } else if (!choice.only.empty()) {
      nearest = better_pattern(choice.only.front(), names);
    }
    throw Error(Kind::usage, "", {"no parameter is left to take", "", nearest, {Advice::What::choose_others, ""}});
  }
  std::sort(chosen.begin(), chosen.end(), [](const TensorChoice& a, const TensorChoice& b) {
    return std::tie(a.tensor.name, a.before) < std::tie(b.tensor.name, b.before);
  });
  for (std::size_t i = 1; i < chosen.size(); ++i)
    if (chosen[i].tensor.name == chosen[i - 1].tensor.name)
      throw Error(
          Kind::usage, "",
          {"'" + chosen[i - 1].before + "' and '" + chosen[i].before + "' both become '" + chosen[i].tensor.name + "'",
           "one name for each parameter",
           "",
           {Advice::What::rename,
            choice.mapping ? "" : to_rename(choice, chosen[i - 1].before.str(), chosen[i].before.str())}});
  selection.tensors.reserve(chosen.size());
  for (TensorChoice& each : chosen) {
    if (each.is_state) selection.states.insert(each.tensor.name);
    selection.tensors.push_back(std::move(each.tensor));
    selection.source_of.push_back(each.from);
    if (choice.mapping) selection.links.push_back(std::move(each.links));
  }
  if (choice.takes_masters) take_masters(masters, choice, source, selection);
  return selection;
}

Selection renamed(const Selection& selection, const std::vector<std::string>& names, const char* why) {
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return names[a] < names[b]; });
  Selection renamed;
  renamed.equal = selection.equal;
  renamed.notes = selection.notes;
  renamed.map = selection.map;
  for (const std::size_t at : order) {
    if (names[at].empty()) continue;
    if (!renamed.tensors.empty() && renamed.tensors.back().name == names[at])
      throw Error(Kind::usage, "parameter " + names[at],
                  {std::string("two parameters get this name, ") + why, "one", "", {Advice::What::rename, ""}});
    renamed.tensors.push_back(selection.tensors[at]);
    renamed.tensors.back().name = names[at];
    renamed.source_of.push_back(selection.source_of[at]);
    if (!selection.links.empty()) renamed.links.push_back(selection.links[at]);
  }
  return renamed;
}

namespace {

/// Adds the meshes of these axes, from `axis` on, that have `cards` cards: "dp=1,tp=3".
void add_meshes(const std::vector<std::string>& axes, std::size_t axis, std::uint64_t cards, const std::string& before,
                std::vector<std::string>& found) {
  constexpr std::size_t most = 6;
  const std::string lead = before + (axis == 0 ? "" : ",") + axes[axis] + "=";
  if (axis + 1 == axes.size()) {
    found.push_back(lead + std::to_string(cards));
    return;
  }
  for (std::uint64_t size = 1; size <= cards && found.size() < most; ++size)
    if (cards % size == 0) add_meshes(axes, axis + 1, cards / size, lead + std::to_string(size), found);
}

/// Lists the meshes with these axes that have the given number of cards.
std::string meshes_of(const Mesh& mesh, std::uint64_t cards) {
  std::vector<std::string> found;
  add_meshes(mesh.axes, 0, cards, "", found);
  std::string text;
  for (const std::string& each : found) text += (text.empty() ? "" : " or ") + each;
  return text;
}

}  // namespace

Layout target_layout(const TargetChoice& target, const Layout& source) {
  if (target.layout) return *target.layout;
  std::map<std::string, std::uint64_t> mesh = target.mesh;
  if (target.cards && source.mesh.axes.size() != 1)
    throw Error(Kind::usage, "",
                {"the mesh of " + source.origin + " has " + std::to_string(source.mesh.axes.size()) + " axes (" +
                     join(source.mesh.axes) + ")",
                 "one, whose size the number of cards is",
                 "",
                 {Advice::What::say_axes, meshes_of(source.mesh, *target.cards)}});
  if (target.cards) mesh = {{source.mesh.axes.front(), *target.cards}};
  Layout rules = source;
  if (target.uneven) cut_unevenly(rules, *target.uneven);
  try {
    return on_mesh(rules, mesh, source.origin + " on another mesh");
  } catch (Error& error) {
    // A strategy is for its own devices; only as JSON can it say how others hold the parameters.
    if (source.is_plan)
      error.advise("", {Advice::What::print_layout, source.origin + "\nhow the other mesh cuts its parameters"});
    throw;
  }
}

std::set<std::string> left_out_names(const NameChoice& choice, const Resolved& source, const Selection& selection) {
  const NameFilter name_filter(choice);
  std::set<std::string> names;
  for (const std::string& name : source.left_out) names.insert(name_filter.new_name(name));
  for (const Tensor& tensor : source.placement.tensors())
    if (!name_filter.is_kept(tensor.name)) names.insert(name_filter.new_name(tensor.name));
  for (const std::string& name : selection.made) names.insert(name_filter.new_name(name));
  for (const Tensor& tensor : selection.tensors) names.erase(tensor.name);
  return names;
}

CountedNames::CountedNames(const NameChoice& choice, const Resolved& source, const Selection& selection)
    : choice_(choice),
      name_filter_(choice),
      side_(selection.sides[1]),
      left_out_(left_out_names(choice, source, selection)) {
  for (const Tensor& tensor : selection.tensors) taken_.insert(tensor.name);
}

bool CountedNames::counts(const std::string& name) const {
  return counts_itself(name) || (spelled_ && !left_out_.contains(name) && counts_itself(spelled_(name)));
}

bool CountedNames::counts_itself(const std::string& name) const {
  if (taken_.contains(name)) return true;
  return !left_out_.contains(name) && name_filter_.is_kept(name) && choice_.is_kept(side_, name, false) &&
         !(choice_.mapping && choice_.mapping->is_no_weight(name));
}

void CountedNames::add_alias(const std::string& name, const std::string& alias) {
  if (!taken_.contains(alias) && !left_out_.contains(alias)) (counts(name) ? taken_ : left_out_).insert(alias);
}

Layout without_left_out(const NameChoice& choice, const Resolved& source, const Selection& selection,
                        const Layout& layout) {
  if (layout.buckets.empty()) return layout;
  return without_members(layout, left_out_names(choice, source, selection));
}

}  // namespace ckpt
