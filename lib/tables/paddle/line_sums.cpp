#include "tables/paddle/line_sums.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "tensor/mix.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t low_seed = 0x7061646c652d6c6f;   // "paddle-lo"
constexpr std::uint64_t high_seed = 0x7061646c652d6869;  // "paddle-hi"
constexpr std::size_t kept_words = 512;                  // lines are mostly shorter than their 4 KiB

/// Odd: a word times it is 0 only for 0.
constexpr std::uint64_t line_word_key(std::uint64_t seed, std::uint64_t word) {
  return mix(seed + word) | 1U;
}

struct LineKeys {
  std::array<std::uint64_t, kept_words> low{};
  std::array<std::uint64_t, kept_words> high{};
};

constexpr LineKeys make_line_keys() {
  LineKeys keys;
  for (std::size_t word = 0; word < kept_words; ++word) {
    keys.low[word] = line_word_key(low_seed, word);
    keys.high[word] = line_word_key(high_seed, word);
  }
  return keys;
}

constexpr LineKeys line_keys = make_line_keys();

template <KeySets Sets>
void add(std::string_view line, PartialSum& sum) noexcept {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  const auto add_word = [&](std::uint64_t value, std::uint64_t low_key, std::uint64_t high_key) {
    low += value * low_key;
    if constexpr (Sets == KeySets::both) high += value * high_key;
  };
  const auto add_any = [&](std::uint64_t value, std::size_t word) {
    if (word < kept_words) return add_word(value, line_keys.low[word], line_keys.high[word]);
    add_word(value, line_word_key(low_seed, word), line_word_key(high_seed, word));
  };
  const auto word_at = [&](std::size_t byte) {
    std::uint64_t value = 0;
    std::memcpy(&value, line.data() + byte, word_bytes);
    return value;
  };
  const std::size_t words = line.size() / word_bytes;
  const std::size_t kept = std::min(words, kept_words);
  for (std::size_t word = 0; word < kept; ++word)
    add_word(word_at(word * word_bytes), line_keys.low[word], line_keys.high[word]);
  for (std::size_t word = kept; word < words; ++word) add_any(word_at(word * word_bytes), word);
  if (const std::size_t rest = line.size() % word_bytes; rest != 0) {
    std::uint64_t value = 0;
    if (words != 0)
      value = word_at(line.size() - word_bytes) >> 8 * (word_bytes - rest);
    else
      std::memcpy(&value, line.data(), rest);
    add_any(value, words);
  }
  sum.low += mix(mix(line.size() ^ low_seed) + low);
  if constexpr (Sets == KeySets::both) sum.high += mix(mix(line.size() ^ high_seed) + high);
  ++sum.bytes;
}

}  // namespace

void add_line(std::string_view line, PartialSum& sum, KeySets sets) noexcept {
  return sets == KeySets::both ? add<KeySets::both>(line, sum) : add<KeySets::low>(line, sum);
}

void add_lines(std::string_view text, PartialSum& sum) noexcept {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;  // damaged, it may have lost its newline
    add_line(text.substr(0, end), sum);
    text.remove_prefix(end);
  }
}

}  // namespace ckpt
