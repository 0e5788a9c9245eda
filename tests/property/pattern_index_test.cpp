// The index of patterns finds what trying one pattern after the other finds, in far fewer tries.

#include "layout/names/pattern_index.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "property/choices.hpp"

using namespace ckpt;
using model::Choices;

namespace {

using Words = std::vector<std::string>;

/// Few words, so that patterns and names often agree: also special characters, a character of two bytes, and halves of
/// it.
const Words words{"a", "b", "ab", ".", "layers.", "1", "12", "weight", "*", "[", "{", "?", "é", "\xc3", "\xa9"};
const Words literals{"a", "b", "ab", ".", "layers.", "1", "12", "weight", "[*]", "[[]", "[{]", "[?]", "é", "]", "\xc3"};
const Words wildcards{"*", "?", "[ab]", "[!ab]", "[0-9]", "[é-ü]", "{x}", "{y}", "{x}", "{i}"};

std::string draw_name(Choices& choices) {
  std::string name;
  for (std::uint64_t i = choices.below(7); i > 0; --i) name += choices.pick(words);
  return name;
}

Pattern draw_pattern(Choices& choices) {
  std::string text;
  for (std::uint64_t i = choices.below(6); i > 0; --i)
    text += choices.chance(65) ? choices.pick(literals) : choices.pick(wildcards);
  return Pattern(text, {"i"});
}

std::vector<const Pattern*> pointers(const std::vector<Pattern>& patterns) {
  std::vector<const Pattern*> all;
  for (const Pattern& pattern : patterns) all.push_back(&pattern);
  return all;
}

std::optional<std::size_t> first_by_trying(const std::vector<Pattern>& patterns, const std::string& name,
                                           std::size_t from) {
  for (std::size_t i = from; i < patterns.size(); ++i)
    if (patterns[i].matches(name)) return i;
  return std::nullopt;
}

std::size_t tries(const PatternIndex& index, const std::string& name) {
  std::size_t count = 0;
  index.for_each_candidate(name, [&](std::size_t number) {
    ++count;
    return index.pattern(number).matches(name);
  });
  return count;
}

}  // namespace

TEST_CASE("the first pattern that matches is found as by trying them in order") {
  std::size_t found = 0;
  std::size_t asked = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Choices choices(seed);
    std::vector<Pattern> patterns;
    for (std::uint64_t i = choices.below(choices.chance(50) ? 400 : 12); i > 0; --i)
      patterns.push_back(draw_pattern(choices));
    const PatternIndex index(pointers(patterns));
    for (int i = 0; i < 100; ++i) {
      const std::string name = draw_name(choices);
      const std::size_t from = choices.chance(70) ? 0 : choices.below(patterns.size() + 2);
      const auto expected = first_by_trying(patterns, name, from);
      INFO("seed " << seed << ", name " << name << ", from " << from);
      REQUIRE(index.first(name, from) == expected);
      ++asked;
      found += expected.has_value();
    }
  }
  CHECK(found > asked / 5);  // neither always nor never
  CHECK(found < asked * 4 / 5);
}

TEST_CASE("candidates come in order, each pattern that matches among them") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Choices choices(seed);
    std::vector<Pattern> patterns;
    for (std::uint64_t i = choices.below(200); i > 0; --i) patterns.push_back(draw_pattern(choices));
    const PatternIndex index(pointers(patterns));
    const std::string name = draw_name(choices);
    std::vector<std::size_t> candidates;
    index.for_each_candidate(name, [&](std::size_t number) {
      candidates.push_back(number);
      return false;
    });
    CHECK(std::is_sorted(candidates.begin(), candidates.end()));
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      INFO("seed " << seed << ", name " << name << ", pattern " << patterns[i].text());
      CHECK((!patterns[i].matches(name) || std::find(candidates.begin(), candidates.end(), i) != candidates.end()));
    }
  }
}

TEST_CASE("thousands of patterns cost a name a few tries") {
  constexpr std::size_t count = 2'000;
  for (const std::string shape : {"layers.#.attn.weight", "layers.#.*", "*.layers.#.attn.weight",
                                  "{x}.layers.#.*.weight", "*.experts.#.*", "layers.*.experts.#.{x}.weight"}) {
    std::vector<Pattern> patterns;
    Words names;
    for (std::size_t i = 0; i < count; ++i) {
      const auto filled = [&](std::string text, const std::string& number) {
        return text.replace(text.find('#'), 1, number);
      };
      patterns.emplace_back(filled(shape, std::to_string(i)));
      std::string name = filled(shape, std::to_string(i));
      for (std::size_t at = 0; (at = name.find_first_of("*{")) != std::string::npos;)
        name.replace(at, name[at] == '*' ? 1 : 3, "m");
      names.push_back(name);
    }
    patterns.emplace_back("*");
    const PatternIndex index(pointers(patterns));
    std::size_t tried = 0;
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(index.first(names[i]) == i);
      tried += tries(index, names[i]);
    }
    INFO(shape);
    CHECK(tried <= 2 * count);
  }
}
