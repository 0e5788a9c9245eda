#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "diagnosis/draft/facts.hpp"

namespace ckpt::drafting {

/// Whether the numbers are 0, 1 and so on, and at least one.
bool counts_from_zero(const std::set<std::uint64_t>& numbers);

/// A number in names that may count something, such as layers or experts.
struct Counter {
  std::string in;                              ///< for `in` of an entry of `indices`: "*layers.{i}.*"
  std::vector<std::set<std::uint64_t>> found;  ///< by position: the numbers in the names that a card stores
  std::set<std::uint64_t> expected;            ///< numbers in the reference's names; empty if it has no such names
  std::vector<std::string> names;              ///< stored names with this counter, in order
};

/// The numbers in stored names (as renamed) that are alone between dots, slashes or underscores. Names that have the
/// same numbers on the same cards after the same word share a counter.
std::vector<Counter> counters(const std::vector<NameFacts>& facts, const std::vector<std::string>& expected);

/// The entries of `indices` that explain, in terms of the library's IndexBlocks, which numbers are on which card. Empty
/// if every card has every number and no others are expected, so that nothing need be counted.
std::vector<IndexRule> index_candidates(const Counter& counter, const Mesh& mesh);

}  // namespace ckpt::drafting
