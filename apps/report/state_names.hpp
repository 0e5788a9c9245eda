#pragma once

#include <set>
#include <string>
#include <vector>

namespace ckpt::cli {

/// The optimizer state that a parameter's name means, by the words that frameworks use.
struct StateName {
  bool is_state = false;
  std::string word;  ///< what is kept: "exp_avg"; empty: the name does not say
  std::string stem;  ///< the name, with a mark in place of the word; equal for all state of one parameter
};

StateName state_name(const std::string& name);

/// Those of a checkpoint's names that are optimizer state beyond doubt: in a group that only an optimizer has
/// ("optim"), or beside the weight whose state they are. A word such as "linear" or "m" may be a module's.
std::set<std::string> sure_states(const std::vector<std::string>& names);

/// Globs that match these states of a checkpoint and nothing else that it has: "optim.*", "*.exp_avg"; at most `limit`,
/// or none.
std::vector<std::string> state_patterns(const std::vector<std::string>& names, const std::set<std::string>& states,
                                        std::size_t limit);

/// A text that was made from stems, with the words in place of the mark: "{exp_avg,exp_avg_sq}.layers.{0-31}.w".
std::string with_words(std::string text, const std::vector<std::string>& words);

}  // namespace ckpt::cli
