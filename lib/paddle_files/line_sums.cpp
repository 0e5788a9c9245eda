#include "paddle_files/line_sums.hpp"

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

}  // namespace

void add_line(std::string_view line, PartialSum& sum) noexcept {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::size_t word = 0;
  const auto add = [&](const char* from, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, bytes);
    const bool is_kept = word < kept_words;
    low += value * (is_kept ? line_keys.low[word] : line_word_key(low_seed, word));
    high += value * (is_kept ? line_keys.high[word] : line_word_key(high_seed, word));
    ++word;
  };
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= line.size(); at += sizeof(std::uint64_t))
    add(line.data() + at, sizeof(std::uint64_t));
  if (at < line.size()) add(line.data() + at, line.size() - at);
  sum.low += mix(mix(line.size() ^ low_seed) + low);
  sum.high += mix(mix(line.size() ^ high_seed) + high);
  ++sum.bytes;
}

void add_lines(std::string_view text, PartialSum& sum) noexcept {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;  // damaged, it may have no newline any more
    add_line(text.substr(0, end), sum);
    text.remove_prefix(end);
  }
}

}  // namespace ckpt
