#include "keyed/row_sums.hpp"

#include <cstring>

#include "base/checked.hpp"
#include "tensor/mix.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t word_bytes = 4;

/// The upper half of a mixed number, made odd: no word times it is 0 but 0.
std::uint32_t word_key(std::uint64_t seed, std::uint64_t word) {
  return static_cast<std::uint32_t>(mix(seed + word) >> 32) | 1U;
}

}  // namespace

RowSums::RowSums(const std::string& description, std::uint64_t row_bytes)
    : row_bytes_(row_bytes), seed_(fingerprint({}, description)) {
  for (std::uint64_t word = 0; word < ceil_div(row_bytes, word_bytes); ++word) {
    low_.push_back(word_key(seed_.low, word));
    high_.push_back(word_key(seed_.high, word));
  }
}

void RowSums::add(std::uint64_t key, const std::byte* row, PartialSum& sum) const noexcept {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  const std::size_t whole = row_bytes_ / word_bytes;
  for (std::size_t w = 0; w < whole; ++w) {
    std::uint32_t word = 0;
    std::memcpy(&word, row + w * word_bytes, word_bytes);
    low += std::uint64_t{word} * low_[w];
    high += std::uint64_t{word} * high_[w];
  }
  if (const std::size_t rest = row_bytes_ % word_bytes; rest != 0) {
    std::uint32_t word = 0;
    std::memcpy(&word, row + whole * word_bytes, rest);
    low += std::uint64_t{word} * low_[whole];
    high += std::uint64_t{word} * high_[whole];
  }
  sum.low += mix(mix(key ^ seed_.low) + low);
  sum.high += mix(mix(key ^ seed_.high) + high);
  sum.bytes += row_bytes_;
}

Fingerprint row_fingerprint(const PartialSum& sum) {
  return fingerprint(sum, "rows by key");
}

}  // namespace ckpt
