#pragma once

#include <array>
#include <string_view>

#include "layout/language/layout.hpp"

namespace ckpt::parsing {

/// The layout language's words for the values of an enum, used by both the parser and the writer.
template <class Value>
struct Word {
  std::string_view text;
  Value value;
};

inline constexpr std::array<Word<Uneven>, 3> uneven_words{
    {{"exact", Uneven::exact}, {"ceil", Uneven::ceil}, {"balanced", Uneven::balanced}}};
inline constexpr std::array<Word<Fill>, 2> fill_words{{{"zero", Fill::zero}, {"edge", Fill::edge}}};
inline constexpr std::array<Word<Replicas>, 2> replicas_words{{{"check", Replicas::check}, {"first", Replicas::first}}};
inline constexpr std::array<Word<Default>, 2> default_words{
    {{"error", Default::error}, {"replicate", Default::replicate}}};
inline constexpr std::array<Word<Numbering>, 2> numbering_words{
    {{"local", Numbering::local}, {"global", Numbering::global}}};
inline constexpr std::array<Word<bool>, 1> last_words{{{"short", true}}};  // of a bucket's last piece
inline constexpr std::array<Word<Signedness>, 2> signedness_words{
    {{"floor", Signedness::floor}, {"truncate", Signedness::truncate}}};
inline constexpr std::array<Word<KeyHash>, 2> key_hash_words{
    {{"splitmix64", KeyHash::splitmix64}, {"murmur3_fmix64", KeyHash::murmur3_fmix64}}};
inline constexpr std::array<Word<RowOrder>, 2> row_order_words{
    {{"source", RowOrder::source}, {"shard", RowOrder::shard}}};

}  // namespace ckpt::parsing
