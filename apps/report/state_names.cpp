#include "report/state_names.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "layout/names/pattern.hpp"

namespace ckpt::cli {

namespace {

/// Words by which frameworks name what an optimizer keeps for each parameter.
constexpr std::array<std::string_view, 37> state_words{"exp_avg",
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
                                                       "gradient_accumulator"};

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

std::string_view text_of(const std::string& name, const Word& word) {
  return std::string_view(name).substr(word.begin, word.size);
}

/// Whether the word is a group that only an optimizer has. OPT is a model.
bool is_sure_group(const std::string& name, const Word& word) {
  return text_of(name, word) != "opt" && contains(state_groups, text_of(name, word));
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

std::set<std::string> sure_states(const std::vector<std::string>& names) {
  const std::set<std::string> all(names.begin(), names.end());
  std::set<std::string> states;
  for (const std::string& name : names) {
    const std::vector<Word> words = words_of(name);
    bool is_sure = std::ranges::any_of(words, [&](const Word& word) { return is_sure_group(name, word); });
    const StateName state = state_name(name);
    if (const std::size_t mark = state.stem.find(word_mark); !is_sure && state.is_state && mark != std::string::npos)
      is_sure = all.contains(mark == 0 ? state.stem.substr(std::min<std::size_t>(2, state.stem.size()))
                                       : state.stem.substr(0, mark - 1) + state.stem.substr(mark + 1));
    if (is_sure) states.insert(name);
  }
  return states;
}

std::vector<std::string> state_patterns(const std::vector<std::string>& names, const std::set<std::string>& states,
                                        std::size_t limit) {
  std::set<std::string> patterns;
  for (const std::string& name : states) {
    const std::vector<Word> words = words_of(name);
    auto telling = std::ranges::find_if(words, [&](const Word& word) { return is_sure_group(name, word); });
    const std::string kept = state_name(name).word;
    if (telling == words.end())
      telling = std::ranges::find_if(words, [&](const Word& word) { return text_of(name, word) == kept; });
    if (telling == words.end()) return {};
    const std::size_t end = telling->begin + telling->size;
    std::string pattern = telling->begin == 0 ? "" : "*" + name.substr(telling->begin - 1, 1);
    pattern += text_of(name, *telling);
    if (end != name.size()) pattern += name.substr(end, 1) + "*";
    patterns.insert(std::move(pattern));
    if (patterns.size() > limit) return {};
  }
  std::vector<Pattern> globs;
  for (const std::string& pattern : patterns) globs.emplace_back(pattern);
  const bool is_right = std::ranges::all_of(names, [&](const std::string& name) {
    const auto matches = [&](const Pattern& glob) { return glob.matches(name); };
    return std::ranges::any_of(globs, matches) == states.contains(name);
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
