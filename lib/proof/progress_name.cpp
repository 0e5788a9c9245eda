#include "proof/progress_name.hpp"

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
constexpr std::array<std::string_view, 9> counted{"step",       "steps", "epoch", "epochs", "iteration",
                                                  "iterations", "iter",  "iters", "updates"};
constexpr std::array<std::string_view, 26> beside{
    "global", "current",   "cur",   "last",     "latest", "train",  "training",   "trainer",  "trained",
    "total",  "completed", "done",  "finished", "num",    "number", "n",          "no",       "nr",
    "count",  "idx",       "index", "id",       "saved",  "ckpt",   "checkpoint", "optimizer"};
/// What else frameworks count over all cards.
constexpr std::array<std::string_view, 6> counted_samples{"global_samples",         "consumed_samples",
                                                          "consumed_train_samples", "consumed_tokens",
                                                          "consumed_train_tokens",  "global_tokens"};
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
  if (is_among(std::string(last), counted_samples)) return true;
  const Words words = words_of(last);
  return std::any_of(words.begin(), words.end(), [](const auto& word) { return is_among(word, counted); }) &&
         std::all_of(words.begin(), words.end(),
                     [](const auto& word) { return is_among(word, counted) || is_among(word, beside); });
}

}  // namespace ckpt
