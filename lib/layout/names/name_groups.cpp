#include "layout/names/name_groups.hpp"

#include <unordered_map>

#include "layout/names/characters.hpp"

namespace ckpt {

namespace {

/// Sets `pieces` to the texts and the numbers of a name in turn, a text first.
void cut_at_numbers(std::string_view name, std::vector<std::string_view>& pieces) {
  pieces.clear();
  std::size_t from = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const bool in_number = pieces.size() % 2 == 1;
    if (i < name.size() && is_digit(name[i]) == in_number) continue;
    pieces.push_back(name.substr(from, i - from));
    from = i;
  }
}

/// Returns the name with each number written as 0, which no text has.
std::string without_numbers(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (!is_digit(name[i]))
      text += name[i];
    else if (i == 0 || !is_digit(name[i - 1]))
      text += '0';
  return text;
}

}  // namespace

std::vector<std::string> text_and_numbers(std::string_view name) {
  std::vector<std::string_view> pieces;
  cut_at_numbers(name, pieces);
  return {pieces.begin(), pieces.end()};
}

bool differ_in_numbers(std::string_view a, std::string_view b) {
  return without_numbers(a) == without_numbers(b);
}

std::vector<NameGroup> group_names(const std::vector<std::string>& names) {
  struct Group {
    std::vector<std::string_view> pieces;
    std::vector<bool> differs;
  };
  std::unordered_map<std::string, std::size_t> number_of;  // by the texts between numbers
  std::vector<Group> groups;
  std::vector<NameGroup> result;
  std::vector<std::string_view> pieces;
  for (const std::string& name : names) {
    cut_at_numbers(name, pieces);
    const auto [known, is_new] = number_of.try_emplace(without_numbers(name), groups.size());
    if (is_new) {
      result.emplace_back();
      groups.push_back({pieces, std::vector<bool>(pieces.size(), false)});
    }
    Group& group = groups[known->second];
    for (std::size_t i = 1; i < pieces.size(); i += 2)
      if (pieces[i] != group.pieces[i]) group.differs[i] = true;
    result[known->second].names.push_back(name);
  }
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t i = 0; i < groups[g].pieces.size(); ++i)
      result[g].pattern += groups[g].differs[i] ? "*" : groups[g].pieces[i];
  return result;
}

std::vector<std::string> describe_groups(const std::vector<NameGroup>& groups) {
  std::vector<std::string> words;
  for (const NameGroup& group : groups)
    words.push_back(group.names.size() == 1
                        ? group.names.front()
                        : group.pattern + ": " + std::to_string(group.names.size()) + " parameters");
  return words;
}

}  // namespace ckpt
