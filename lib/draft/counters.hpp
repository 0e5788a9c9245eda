#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "draft/facts.hpp"

namespace ckpt::drafting {

/// Whether these are 0, 1 and so on, and any at all.
bool counts_from_zero(const std::set<std::uint64_t>& numbers);

/// A number in names that may count something: layers, experts.
struct Counter {
  std::string in;                              ///< as `in` of an entry of `indices` has it: "*layers.{i}.*"
  std::vector<std::set<std::uint64_t>> found;  ///< by position: the numbers in the names that a card stores
  std::set<std::uint64_t> expected;            ///< those in the names of the reference; empty where it has none such
  std::vector<std::string> names;              ///< stored names with this counter, in order
};

/// The numbers of stored names (as renamed) that stand alone between dots, slashes or underscores. Names that have the
/// same numbers on the same cards behind the same word share a counter.
std::vector<Counter> counters(const std::vector<NameFacts>& facts, const std::vector<std::string>& expected);

/// The entries of `indices` that explain which numbers are found on which card: as the library's IndexBlocks has them.
/// None where every card has every number and no others are expected, so that nothing need be counted.
std::vector<IndexRule> index_candidates(const Counter& counter, const Mesh& mesh);

}  // namespace ckpt::drafting
