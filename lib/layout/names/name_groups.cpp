#include "layout/names/name_groups.hpp"

#include <map>

#include "layout/names/characters.hpp"

namespace ckpt {

std::vector<std::string> text_and_numbers(std::string_view name) {
  std::vector<std::string> pieces{""};
  for (const char c : name) {
    const bool in_number = pieces.size() % 2 == 0;
    if (is_digit(c) != in_number) pieces.emplace_back();
    pieces.back() += c;
  }
  return pieces;
}

bool differ_in_numbers(std::string_view a, std::string_view b) {
  const std::vector<std::string> ours = text_and_numbers(a);
  const std::vector<std::string> theirs = text_and_numbers(b);
  if (ours.size() != theirs.size()) return false;
  for (std::size_t i = 0; i < ours.size(); i += 2)
    if (ours[i] != theirs[i]) return false;
  return true;
}

std::vector<NameGroup> group_names(const std::vector<std::string>& names) {
  struct Group {
    std::vector<std::string> pieces;
    std::vector<bool> differs;
  };
  std::map<std::vector<std::string>, std::size_t> number_of;  // by the texts between numbers
  std::vector<Group> groups;
  std::vector<NameGroup> result;
  for (const std::string& name : names) {
    auto pieces = text_and_numbers(name);
    auto key = pieces;
    for (std::size_t i = 1; i < key.size(); i += 2) key[i].clear();
    const auto [known, is_new] = number_of.try_emplace(std::move(key), groups.size());
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
