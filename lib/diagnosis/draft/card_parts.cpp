#include "diagnosis/draft/card_parts.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "layout/names/card_words.hpp"
#include "layout/names/literal.hpp"

namespace ckpt::drafting {

namespace {

constexpr std::array<std::string_view, 12> counting_words{
    "part", "partition", "shard", "slice", "piece", "rank", "card", "device", "worker", "server", "mp_rank", "tp_rank"};

/// A name with a numbered component: "w" + "/" + "part_" + number + "".
struct PartName {
  std::string before;  ///< the components before, with their separator at the end
  std::string word;    ///< "part_"
  std::string digits;  ///< the number
  std::string after;   ///< the components behind, with their separator at the beginning
  std::string fill(const std::string& number) const { return before + word + number + after; }
};

bool ends_component(char c) {
  return c == '/' || c == '.';
}

std::optional<PartName> numbered(const std::string& name, std::size_t begin, std::size_t end) {
  const std::string component = name.substr(begin, end - begin);
  const std::size_t digits = component.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == component.size()) return std::nullopt;
  std::string word = component.substr(0, digits);
  while (!word.empty() && !std::isalpha(static_cast<unsigned char>(word.back()))) word.pop_back();
  word = lower_case(word);
  if (std::find(counting_words.begin(), counting_words.end(), word) == counting_words.end()) return std::nullopt;
  return PartName{name.substr(0, begin), component.substr(0, digits), component.substr(digits), name.substr(end)};
}

/// The first component that numbers pieces, in a name that has other components, too.
std::optional<PartName> numbered(const std::string& name) {
  for (std::size_t begin = 0; begin < name.size();) {
    std::size_t end = begin;
    while (end < name.size() && !ends_component(name[end])) ++end;
    if (end - begin < name.size())
      if (auto found = numbered(name, begin, end)) return found;
    begin = end + 1;
  }
  return std::nullopt;
}

/// Names that differ only in that number, by the number as written.
struct PieceFamily {
  PartName first;
  std::map<std::string, const NameFacts*> members;

  /// The names without the number's component.
  std::string whole() const {
    return first.before.empty() ? first.after.substr(1) : first.before.substr(0, first.before.size() - 1) + first.after;
  }
};

/// Whether exactly the cards with a member's number hold it.
bool is_told_by(const CardWord& word, const PieceFamily& family, const Mesh& mesh) {
  std::set<std::string> numbers;
  for (Position position = 0; position < mesh.size(); ++position) {
    const std::string own = word.number(mesh, position);
    numbers.insert(own);
    for (const auto& [number, fact] : family.members)
      if ((fact->pieces[position].array != nullptr) != (number == own)) return false;
  }
  return numbers.size() == family.members.size() && numbers.size() > 1;
}

/// The word that the numbers stand for.
std::optional<CardWord> word_of(const PieceFamily& family, const Mesh& mesh) {
  std::vector<std::string> words = mesh.axes;
  words.emplace_back("card");
  const std::string& digits = family.first.digits;
  const bool is_filled =
      digits.size() > 1 && std::all_of(family.members.begin(), family.members.end(),
                                       [&](const auto& m) { return m.first.size() == digits.size(); });
  for (const std::string& each : words) {
    const std::string inside = is_filled ? each + ":0" + std::to_string(digits.size()) : each;
    if (auto word = card_word(inside, mesh); word && is_told_by(*word, family, mesh)) return word;
  }
  return std::nullopt;
}

/// Whether the numbers count from 0 without a gap, and the arrays could be pieces of one tensor.
bool is_counted_from_zero(const PieceFamily& family) {
  const StoredArray& first = first_array(family.members.begin()->second->pieces);
  for (std::size_t i = 0; i < family.members.size(); ++i)
    if (!family.members.contains(std::to_string(i))) return false;
  return family.members.size() > 1 &&
         std::all_of(family.members.begin(), family.members.end(), [&](const auto& member) {
           const StoredArray& array = first_array(member.second->pieces);
           return array.dtype == first.dtype && array.shape.size() == first.shape.size() && !array.shape.empty();
         });
}

std::vector<PieceFamily> families_of(const std::vector<NameFacts>& facts) {
  std::map<std::string, PieceFamily> families;
  for (const NameFacts& fact : facts)
    if (const auto found = numbered(fact.stored)) {
      PieceFamily& family = families.try_emplace(found->fill("\n"), PieceFamily{*found, {}}).first->second;
      family.members.emplace(found->digits, &fact);
    }
  std::vector<PieceFamily> result;
  for (auto& [pattern, family] : families) result.push_back(std::move(family));
  return result;
}

/// A pattern of the whole family: "{x}/part_{tp}" → "{x}". It need not state the names around the word.
std::pair<std::string, std::string> open_pattern(const PieceFamily& family, const std::string& word) {
  const PartName& name = family.first;
  const std::string numbered = literal(name.word) + "{" + word + "}";
  if (name.before.empty()) return {numbered + name.after.front() + "{x}", "{x}"};
  const std::string before = "{x}" + name.before.substr(name.before.size() - 1);
  if (name.after.empty()) return {before + numbered, "{x}"};
  return {before + numbered + name.after.front() + "{y}", "{x}" + name.after.substr(0, 1) + "{y}"};
}

Open open_in_one_file(const PieceFamily& family) {
  const auto [stored, name] = open_pattern(family, "tp");
  const std::string cards = std::to_string(family.members.size());
  return {"by its name the piece of one of " + cards + " cards in one file",
          {"\"mesh\" of " + cards + R"( cards, "axes": ["tp"], and "rename": [{"stored": ")" + stored +
           R"(", "name": ")" + name + "\"}]"},
          "whether it is, or a parameter of its own"};
}

}  // namespace

CardParts find_card_parts(const std::vector<NameFacts>& facts, const Mesh& mesh) {
  CardParts parts;
  std::set<std::string> taken;
  for (const NameFacts& fact : facts) taken.insert(fact.stored);
  std::set<std::string> known;  // texts of renames
  for (const PieceFamily& family : families_of(facts)) {
    if (mesh.size() == 1) {
      if (is_counted_from_zero(family))
        for (const auto& [number, fact] : family.members) parts.open.emplace(fact->stored, open_in_one_file(family));
      continue;
    }
    const auto word = word_of(family, mesh);
    if (!word || !taken.insert(family.whole()).second) continue;
    const auto [stored, name] = open_pattern(family, word->text);
    if (known.insert(stored).second)
      parts.renames.push_back({CardPattern::parse(stored, mesh, {"x", "y"})->alike(), Pattern(name), stored});
  }
  return parts;
}

}  // namespace ckpt::drafting
