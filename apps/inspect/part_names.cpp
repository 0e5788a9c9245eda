#include "inspect/part_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "layout/names/characters.hpp"

namespace ckpt::cli {

namespace {

std::vector<std::string> split(const std::string& text, std::string_view separators) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    pieces.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return pieces;
}

/// What models add to a name that names no part.
bool is_filler(const std::string& word) {
  constexpr std::array<std::string_view, 6> fillers{"proj", "fused", "linear", "weight", "bias", ""};
  return std::find(fillers.begin(), fillers.end(), word) != fillers.end();
}

/// "qkv", "kv": a letter for each part.
std::vector<std::string> letters(const std::string& word) {
  std::vector<std::string> letters;
  if (word.find_first_not_of("qkv") == std::string::npos)
    for (const char c : word) letters.emplace_back(1, c);
  return letters;
}

/// "w13": w1, w3.
std::vector<std::string> numbered(const std::string& word) {
  std::vector<std::string> names;
  if (word.size() < 2 || word[0] != 'w' || !std::all_of(word.begin() + 1, word.end(), is_digit)) return names;
  for (const char c : word.substr(1)) names.push_back(std::string("w") + c);
  return names;
}

}  // namespace

std::vector<std::string> part_names(const std::string& tensor, std::size_t count) {
  const std::vector<std::string> components = split(tensor, "./");
  for (auto component = components.rbegin(); component != components.rend(); ++component) {
    std::vector<std::string> words = split(*component, "_");
    std::erase_if(words, is_filler);
    if (words.size() == count && count > 1) return words;
    for (const std::string& word : words)
      for (std::vector<std::string> names : {letters(word), numbered(word)})
        if (names.size() == count && count > 1) return names;
  }
  std::vector<std::string> names;
  for (std::size_t part = 0; part < count; ++part) names.push_back("part " + std::to_string(part));
  return names;
}

}  // namespace ckpt::cli
