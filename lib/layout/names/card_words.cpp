#include "layout/names/card_words.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/error.hpp"

namespace ckpt {

namespace {

constexpr std::string_view word_of_card = "card";
constexpr std::size_t most_width = 20;  // of 2^64

std::size_t width_of(std::string_view inside, std::string_view digits) {
  std::size_t width = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, width);
  if (digits.size() < 2 || digits[0] != '0' || digits[1] == '0' || read.ec != std::errc() || read.ptr != end ||
      width > most_width)
    throw Error(Kind::layout, "",
                {"found {" + std::string(inside) + "}", "a width of at most 20 digits, as in {card:05}", ""});
  return width;
}

/// Replaces each word of the mesh in a text by the result of `change`.
std::string changed(const std::string& name, const Mesh& mesh,
                    const std::function<std::string(const CardWord&)>& change) {
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t close = name[at] == '{' ? name.find('}', at) : std::string::npos;
    const auto word = close == std::string::npos
                          ? std::nullopt
                          : card_word(std::string_view(name).substr(at + 1, close - at - 1), mesh);
    text += word ? change(*word) : std::string(1, name[at]);
    at = word ? close + 1 : at + 1;
  }
  return text;
}

/// Returns the end of a set such as "[{]" that begins at `open` in a pattern's text.
std::size_t end_of_set(const std::string& text, std::size_t open) {
  const std::size_t close = text.find(']', open + 2);
  return close == std::string::npos ? text.size() : close + 1;
}

std::string capture_of(std::size_t word) {
  return "card_word_" + std::to_string(word);
}

}  // namespace

std::string CardWord::number(const Mesh& mesh, std::uint64_t position) const {
  std::string digits = std::to_string(axis ? mesh.coordinate(position, *axis) : mesh.card(position));
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

std::optional<CardWord> card_word(std::string_view inside, const Mesh& mesh) {
  const std::size_t colon = inside.find(':');
  const std::string_view name = inside.substr(0, colon);
  CardWord word{std::string(inside), {}};
  if (name != word_of_card) word.axis = mesh.axis(std::string(name));
  if (name != word_of_card && !word.axis) return std::nullopt;
  if (colon != std::string_view::npos) word.width = width_of(inside, inside.substr(colon + 1));
  return word;
}

std::string with_numbers_of_card(const std::string& name, const Mesh& mesh, std::uint64_t position) {
  return changed(name, mesh, [&](const CardWord& word) { return word.number(mesh, position); });
}

std::vector<std::size_t> axes_of_words(const std::string& name, const Mesh& mesh) {
  std::set<std::size_t> axes;
  changed(name, mesh, [&](const CardWord& word) {
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis)
      if (!word.axis || *word.axis == axis) axes.insert(axis);
    return std::string();
  });
  return {axes.begin(), axes.end()};
}

std::optional<CardPattern> CardPattern::parse(const std::string& text, const Mesh& mesh,
                                              const std::set<std::string>& captures) {
  CardPattern pattern;
  std::string alike;
  std::string stored;
  std::set<std::string> numeric;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text[at] == '[' ? end_of_set(text, at) : at + 1;
    const std::size_t close = text[at] == '{' ? text.find('}', at) : std::string::npos;
    if (close != std::string::npos) {
      const std::string inside = text.substr(at + 1, close - at - 1);
      if (auto word = captures.contains(inside) ? std::nullopt : card_word(inside, mesh)) {
        alike += "[{]" + inside + "}";
        stored += "{" + *numeric.insert(capture_of(pattern.words_.size())).first + "}";
        pattern.words_.push_back(*std::move(word));
        at = close + 1;
        continue;
      }
      end = close + 1;
    }
    alike.append(text, at, end - at);
    stored.append(text, at, end - at);
    at = end;
  }
  if (pattern.words_.empty()) return std::nullopt;
  pattern.alike_ = Pattern(alike);
  pattern.stored_ = Pattern(stored, numeric);
  return pattern;
}

std::optional<CardPattern::NameMatch> CardPattern::match(const std::string& name) const {
  auto captures = stored_.match(name);
  if (!captures) return std::nullopt;
  NameMatch found;
  for (std::size_t word = 0; word < words_.size(); ++word) {
    const auto digits = captures->find(capture_of(word));
    found.numbers.push_back(digits->second);
    captures->erase(digits);
  }
  found.name = alike_.fill(*captures);
  found.captures = *std::move(captures);
  return found;
}

}  // namespace ckpt
