#pragma once

#include <string>
#include <vector>

namespace ckpt::cli {

/// What a parameter's name says of an optimizer's state, by the words that frameworks use.
struct StateName {
  bool is_state = false;
  std::string word;  ///< what is kept: "exp_avg"; empty: the name does not say
  std::string stem;  ///< the name, with a mark in place of the word; equal for all state of one parameter
};

StateName state_name(const std::string& name);

/// Globs that match every optimizer state of these names and nothing else: "optim.*", "*.exp_avg"; at most `limit`, or
/// none.
std::vector<std::string> state_patterns(const std::vector<std::string>& names, std::size_t limit);

/// A text that was made from stems, with the words in place of the mark: "{exp_avg,exp_avg_sq}.layers.{0-31}.w".
std::string with_words(std::string text, const std::vector<std::string>& words);

}  // namespace ckpt::cli
