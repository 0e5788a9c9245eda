#include "diagnosis/progress_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace ckpt {

namespace {

using Words = std::vector<std::string>;

/// "global_step", "globalStep" and "Global-Step" are the words "global" and "step".
Words words_of(std::string_view name) {
  Words words;
  bool goes_on = false;
  bool was_lower = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool is_upper = std::isupper(letter) != 0;
    if (std::isalpha(letter) == 0) {
      goes_on = was_lower = false;
      continue;
    }
    if (!goes_on || (is_upper && was_lower)) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(letter));
    goes_on = true;
    was_lower = !is_upper;
  }
  return words;
}

template <std::size_t n>
bool is_among(const std::string& word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The words that count, and those that may stand beside them. "time per step" and "warmup steps" are something else.
constexpr std::array<std::string_view, 10> counted{"step",       "steps", "epoch", "epochs", "iteration",
                                                   "iterations", "iter",  "iters", "update", "updates"};
constexpr std::array<std::string_view, 26> beside{
    "global", "current",   "cur",   "last",     "latest", "train",  "training",   "trainer",  "trained",
    "total",  "completed", "done",  "finished", "num",    "number", "n",          "no",       "nr",
    "count",  "idx",       "index", "id",       "saved",  "ckpt",   "checkpoint", "optimizer"};
/// What else frameworks count over all cards, and how they say so: "consumed_train_samples", "tokens_seen".
constexpr std::array<std::string_view, 5> samples{"samples", "tokens", "examples", "batches", "sequences"};
constexpr std::array<std::string_view, 5> of_all_cards{"consumed", "global", "trained", "seen", "processed"};
/// Parts of a path below which each card's own things are.
constexpr std::array<std::string_view, 12> of_each_card{"rng",        "random",   "generator", "loader",
                                                        "dataloader", "sampler",  "dataset",   "datasets",
                                                        "iterator",   "prefetch", "rank",      "worker"};

}  // namespace

bool is_progress_name(std::string_view path) {
  for (const std::string& word : words_of(path))
    if (is_among(word, of_each_card)) return false;
  const std::size_t slash = path.find_last_of("/.");
  const std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const Words words = words_of(last);
  const auto has = [&](const auto& these) {
    return std::any_of(words.begin(), words.end(), [&](const auto& word) { return is_among(word, these); });
  };
  const auto has_no_other_than = [&](const auto& these, const auto& those) {
    return std::all_of(words.begin(), words.end(), [&](const auto& word) {
      return is_among(word, these) || is_among(word, those) || is_among(word, beside);
    });
  };
  return (has(counted) && has_no_other_than(counted, counted)) ||
         (has(samples) && has(of_all_cards) && has_no_other_than(samples, of_all_cards));
}

}  // namespace ckpt
