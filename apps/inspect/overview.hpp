#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ckpt::cli {

/// A parameter as the overview sees it.
struct OverviewEntry {
  std::string name;
  std::string dtype;
  std::string shape;   ///< of the whole tensor; empty: unknown
  std::string stored;  ///< its shapes on the cards; empty: the whole
  std::string rule;    ///< empty: it is not to be shown
  std::uint64_t bytes = 0;
};

/// Some of the parameters.
struct OverviewShare {
  std::string name;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> dtypes;  ///< those with the most bytes first
};

/// Parameters whose names differ only in numbers, or in the word of an optimizer's state, and that are cut alike.
struct OverviewRow {
  OverviewEntry each;  ///< `name` stands for all: "layers.{0-31}.w"; `bytes` are theirs together
  std::uint64_t tensors = 0;
  bool is_state = false;
};

/// What is asked first of a checkpoint of many parameters.
struct Overview {
  std::vector<OverviewShare> dtypes;     ///< the most bytes first
  std::vector<OverviewShare> prefixes;   ///< by the first word behind what all names have in common, in their order
  OverviewShare state;                   ///< the optimizer's, as names tell
  std::vector<std::string> state_words;  ///< exp_avg, exp_avg_sq
  std::vector<OverviewRow> rows;         ///< the optimizer's state last
};

/// The entries are in natural order.
Overview overview_of(const std::vector<OverviewEntry>& entries);

}  // namespace ckpt::cli
