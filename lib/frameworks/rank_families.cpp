#include "frameworks/rank_families.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <regex>
#include <string_view>

#include "base/error.hpp"
#include "layout/names/name_groups.hpp"

namespace ckpt {

namespace {

constexpr char number_mark = '*';  // as in group_names

/// The family's label without the kind and the number of ranks, which the mesh states.
std::string label_of(const std::string& before) {
  std::string label = before.substr(before.rfind('/') + 1);
  if (const std::size_t size = label.find("_world_size"); size != std::string::npos) label.resize(size);
  if (label.ends_with("rank_") || label.ends_with("rank-")) label.pop_back();
  if (label.ends_with("rank")) label.resize(label.size() - 4);
  while (!label.empty() && (label.back() == '_' || label.back() == '-' || label.back() == '.')) label.pop_back();
  return label;
}

/// "model_world_size_1_rank_0.pt": of a job of one rank, whose names differ from no other's.
std::optional<RankFamily> family_of_one(const std::string& name, std::size_t place) {
  static const std::regex form(R"((.*_world_size_1_rank_)0(\D.*))");
  std::smatch found;
  if (!std::regex_match(name, found, form)) return std::nullopt;
  return RankFamily{found[1], found[2], label_of(found[1]), {{0, place}}};
}

std::uint64_t number_in(std::string_view name, const RankFamily& family) {
  name.remove_prefix(family.before.size());
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (status != std::errc{}) throw Error(Kind::input, name, {"has a number of 2^64 or more", "a rank's number", ""});
  return number;
}

}  // namespace

std::vector<RankFamily> rank_families(const std::vector<std::string>& names) {
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < names.size(); ++i) place.emplace(names[i], i);
  std::vector<RankFamily> families;
  for (const NameGroup& group : group_names(names)) {
    if (group.names.size() < 2) {
      if (auto one = family_of_one(group.names.front(), place.at(group.names.front())))
        families.push_back(std::move(*one));
      continue;
    }
    const std::size_t mark = group.pattern.find(number_mark);
    if (std::count(group.pattern.begin(), group.pattern.end(), number_mark) != 1)
      throw Error(Kind::input, group.pattern,
                  {"names of " + std::to_string(group.names.size()) + " files in which several numbers vary",
                   "one number, the rank's", "take the files of one job into a directory of their own"});
    RankFamily family{group.pattern.substr(0, mark), group.pattern.substr(mark + 1), "", {}};
    family.label = label_of(family.before);
    for (const std::string& name : group.names) family.files.push_back({number_in(name, family), place.at(name)});
    std::sort(family.files.begin(), family.files.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    families.push_back(std::move(family));
  }
  return families;
}

}  // namespace ckpt
