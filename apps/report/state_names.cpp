#include "report/state_names.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "layout/names/pattern.hpp"

namespace ckpt::cli {

namespace {

/// Words by which frameworks name what an optimizer keeps for each parameter.
constexpr std::array<std::string_view, 38> state_words{"exp_avg",
                                                       "exp_avg_sq",
                                                       "exp_avg_sq_row",
                                                       "exp_avg_sq_col",
                                                       "max_exp_avg_sq",
                                                       "momentum_buffer",
                                                       "square_avg",
                                                       "grad_avg",
                                                       "acc_delta",
                                                       "moment",
                                                       "moments",
                                                       "moment1",
                                                       "moment2",
                                                       "moments1",
                                                       "moments2",
                                                       "momentum",
                                                       "adam_m",
                                                       "adam_v",
                                                       "fp32",
                                                       "fp32_param",
                                                       "master",
                                                       "master_weights",
                                                       "Adam",
                                                       "Adam_1",
                                                       "RMSProp",
                                                       "RMSProp_1",
                                                       "Momentum",
                                                       "Adagrad",
                                                       "Ftrl",
                                                       "Ftrl_1",
                                                       "Adafactor",
                                                       "Adafactor_1",
                                                       "AdamWeightDecay",
                                                       "AdamWeightDecay_1",
                                                       "accumulator",
                                                       "linear",
                                                       "gradient_accumulator",
                                                       ".OPTIMIZER_SLOT"};

/// Such words that a model may have, too: they count as a name's first word, or in a group of state.
constexpr std::array<std::string_view, 4> short_words{"m", "v", "mu", "nu"};

/// Groups in which frameworks put all of it.
constexpr std::array<std::string_view, 10> state_groups{"optim",
                                                        "optimizer",
                                                        "optimizers",
                                                        "opt",
                                                        "optim_state",
                                                        "opt_state",
                                                        "optimizer_state",
                                                        "optimizer_states",
                                                        "optimizer_state_dict",
                                                        "optim_state_dict"};

/// Texts of a name without its separators.
struct Word {
  std::size_t begin = 0;
  std::size_t size = 0;
};

std::vector<Word> words_of(std::string_view name) {
  std::vector<Word> words;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find_first_of("./", at), name.size());
    words.push_back({at, end - at});
    at = end + 1;
  }
  return words;
}

template <class Words>
bool contains(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Takes the place of a word; no printable name has it.
constexpr char word_mark = '\x01';

}  // namespace

StateName state_name(const std::string& name) {
  StateName state{false, "", name};
  const std::vector<Word> words = words_of(name);
  if (words.size() == 1) return state;  // "momentum" alone is a number of the whole job
  for (const Word& word : words) {
    const std::string_view text = std::string_view(name).substr(word.begin, word.size);
    const bool is_short = (word.begin == 0 || state.is_state) && contains(short_words, text);
    state.is_state = state.is_state || contains(state_groups, text);
    if (!is_short && !contains(state_words, text)) continue;  // the last one counts: moments.exp_avg.w
    state.is_state = true;
    state.word = text;
    state.stem = name.substr(0, word.begin) + word_mark + name.substr(word.begin + word.size);
  }
  return state;
}

std::vector<std::string> state_patterns(const std::vector<std::string>& names, std::size_t limit) {
  std::set<std::string> patterns;
  for (const std::string& name : names) {
    if (!state_name(name).is_state) continue;
    const std::vector<Word> words = words_of(name);
    const auto text_of = [&](const Word& word) { return std::string_view(name).substr(word.begin, word.size); };
    const auto is_telling = [&](const Word& word) {
      return contains(state_groups, text_of(word)) || contains(state_words, text_of(word));
    };
    const auto word = std::ranges::find_if(words, is_telling);
    const Word& telling = word == words.end() ? words.front() : *word;  // a short word counts as a name's first
    const std::size_t end = telling.begin + telling.size;
    std::string pattern = telling.begin == 0 ? "" : "*" + name.substr(telling.begin - 1, 1);
    pattern += text_of(telling);
    if (end != name.size()) pattern += name.substr(end, 1) + "*";
    patterns.insert(std::move(pattern));
    if (patterns.size() > limit) return {};
  }
  std::vector<Pattern> globs;
  for (const std::string& pattern : patterns) globs.emplace_back(pattern);
  const bool is_right = std::ranges::all_of(names, [&](const std::string& name) {
    const auto matches = [&](const Pattern& glob) { return glob.matches(name); };
    return std::ranges::any_of(globs, matches) == state_name(name).is_state;
  });
  if (!is_right) return {};
  return {patterns.begin(), patterns.end()};
}

std::string with_words(std::string text, const std::vector<std::string>& words) {
  const std::size_t mark = text.find(word_mark);
  if (mark == std::string::npos || words.empty()) return text;
  std::string braces;
  for (const auto& word : words) braces += (braces.empty() ? "" : ",") + word;
  return text.replace(mark, 1, words.size() == 1 ? braces : "{" + braces + "}");
}

}  // namespace ckpt::cli
