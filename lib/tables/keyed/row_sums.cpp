#include "tables/keyed/row_sums.hpp"

#include <cstring>

#include "base/checked.hpp"
#include "tensor/mix.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t word_bytes = 4;

/// Returns the upper half of a mixed number, made odd: a word times it is 0 only for 0.
std::uint32_t word_key(std::uint64_t seed, std::uint64_t word) {
  return static_cast<std::uint32_t>(mix(seed + word) >> 32) | 1U;
}

struct RowsToAdd {
  const std::byte* keys;
  const std::byte* rows;
  std::uint64_t count;
  const std::uint64_t* groups;  // by row
};

struct RowKeys {
  const std::uint32_t* low;
  const std::uint32_t* high;
  Fingerprint seed;
  std::uint64_t row_bytes;
};

using AddRows = void (*)(const RowsToAdd&, const RowKeys&, PartialSum*);

/// Adds keys without rows, in a form that the compiler can vectorize.
[[gnu::always_inline]] inline void add_keys(const RowsToAdd& rows, const Fingerprint& seed, PartialSum& total) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::uint64_t i = 0; i < rows.count; ++i) {
    std::uint64_t key = 0;
    std::memcpy(&key, rows.keys + i * sizeof key, sizeof key);
    low += mix(mix(key ^ seed.low));
    high += mix(mix(key ^ seed.high));
  }
  total.low += low;
  total.high += high;
}

/// The compiler vectorizes the words of a row, for each instruction set.
template <bool by_group>
[[gnu::always_inline]] inline void add_rows(const RowsToAdd& rows, const RowKeys& keys, PartialSum* sums) {
  const std::size_t whole = keys.row_bytes / word_bytes;
  const std::size_t rest = keys.row_bytes % word_bytes;
  if (!by_group && keys.row_bytes == 0) return add_keys(rows, keys.seed, *sums);
  PartialSum total;  // in registers
  for (std::uint64_t i = 0; i < rows.count; ++i) {
    const std::byte* const row = rows.rows + i * keys.row_bytes;
    std::uint64_t key = 0;
    std::memcpy(&key, rows.keys + i * sizeof key, sizeof key);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (std::size_t w = 0; w < whole; ++w) {
      std::uint32_t word = 0;
      std::memcpy(&word, row + w * word_bytes, word_bytes);
      low += std::uint64_t{word} * keys.low[w];
      high += std::uint64_t{word} * keys.high[w];
    }
    if (rest != 0) {
      std::uint32_t word = 0;
      std::memcpy(&word, row + whole * word_bytes, rest);
      low += std::uint64_t{word} * keys.low[whole];
      high += std::uint64_t{word} * keys.high[whole];
    }
    PartialSum& sum = by_group ? sums[rows.groups[i]] : total;
    sum.low += mix(mix(key ^ keys.seed.low) + low);
    sum.high += mix(mix(key ^ keys.seed.high) + high);
    sum.bytes += keys.row_bytes;
  }
  if (!by_group) *sums += total;
}

template <bool by_group>
void add_rows_plain(const RowsToAdd& rows, const RowKeys& keys, PartialSum* sums) {
  add_rows<by_group>(rows, keys, sums);
}

#if defined(__x86_64__)
template <bool by_group>
[[gnu::target("avx2")]] void add_rows_avx2(const RowsToAdd& rows, const RowKeys& keys, PartialSum* sums) {
  add_rows<by_group>(rows, keys, sums);
}

/// AVX-512 has a 64-bit multiplication for vectors.
template <bool by_group>
[[gnu::target("avx512f,avx512dq,avx512vl")]] void add_rows_avx512(const RowsToAdd& rows, const RowKeys& keys,
                                                                  PartialSum* sums) {
  add_rows<by_group>(rows, keys, sums);
}
#endif

template <bool by_group>
AddRows fastest_of() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return add_rows_avx512<by_group>;
  if (__builtin_cpu_supports("avx2")) return add_rows_avx2<by_group>;
#endif
  return add_rows_plain<by_group>;
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
  add_all(reinterpret_cast<const std::byte*>(&key), row, 1, sum);
}

void RowSums::add_all(const std::byte* keys, const std::byte* rows, std::uint64_t count,
                      PartialSum& sum) const noexcept {
  static const AddRows fastest = fastest_of<false>();
  fastest({keys, rows, count, nullptr}, {low_.data(), high_.data(), seed_, row_bytes_}, &sum);
}

void RowSums::add_each(const std::byte* keys, const std::byte* rows, std::span<const std::uint64_t> groups,
                       std::span<PartialSum> sums) const noexcept {
  static const AddRows fastest = fastest_of<true>();
  fastest({keys, rows, groups.size(), groups.data()}, {low_.data(), high_.data(), seed_, row_bytes_}, sums.data());
}

Fingerprint row_fingerprint(const PartialSum& sum) {
  return fingerprint(sum, "rows by key");
}

}  // namespace ckpt
