#include "verbs/verbs.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "cli/processes.hpp"
#include "verbs/generated.hpp"

namespace ckpt::cli {

namespace {

constexpr int wrong_command_line = 2;
constexpr std::string_view program_name = "ckpt";

std::vector<Command> commands() {
  return {merge_command(), split_command(), reshard_command(), inspect_command(), draft_command(), verify_command()};
}

Words verbs_with(const std::string& option) {
  Words verbs;
  for (const Command& each : commands())
    if (std::ranges::any_of(each.options(each.manual), [&](const OptionText& it) { return it.has_name(option); }))
      verbs.push_back(each.manual.verb);
  return verbs;
}

const Command* find(const std::vector<Command>& all, std::string_view verb) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& it) { return it.manual.verb == verb; });
  return found == all.end() ? nullptr : &*found;
}

/// A word that other programs use for one of our verbs.
struct VerbSynonym {
  std::string_view word;
  std::string_view verb;
};
constexpr std::array<VerbSynonym, 14> verb_synonyms{{{"consolidate", "merge"},
                                                     {"gather", "merge"},
                                                     {"export", "merge"},
                                                     {"join", "merge"},
                                                     {"shard", "split"},
                                                     {"scatter", "split"},
                                                     {"convert", "reshard"},
                                                     {"transform", "reshard"},
                                                     {"show", "inspect"},
                                                     {"list", "inspect"},
                                                     {"ls", "inspect"},
                                                     {"info", "inspect"},
                                                     {"diff", "verify"},
                                                     {"compare", "verify"}}};

/// The verb that an unknown word may mean; empty if none.
std::string meant_verb(const std::string& word, const Words& verbs) {
  for (const VerbSynonym& each : verb_synonyms)
    if (each.word == word) return std::string(each.verb);
  const auto near = nearest(word, verbs, 1);
  constexpr std::size_t far = 3;
  return edit_distance(word, near.front(), far) < std::min(far, word.size()) ? near.front() : "";
}

/// What to type instead of `ckpt WORD`, where WORD is no verb.
std::string advice_for(const std::string& word, const Words& verbs) {
  const std::string see = "see ckpt --help";
  if (const std::string verb = meant_verb(word, verbs); !verb.empty()) return "did you mean ckpt " + verb + "? " + see;
  std::error_code error;
  if (std::filesystem::exists(word, error)) return "look into it with ckpt inspect " + shell_word(word);
  return see;
}

[[noreturn]] void refuse_verb(const std::string& word, const std::vector<Command>& all) {
  Words verbs;
  for (const Command& each : all) verbs.push_back(each.manual.verb);
  const std::string found = word.starts_with('-') ? "an option before the verb" : "no verb";
  throw Error(Kind::usage, "'" + word + "'", {found, "one of " + join(verbs), advice_for(word, verbs)});
}

std::string overview(const std::vector<Command>& all) {
  constexpr std::size_t column = 12;
  std::string text =
      "Usage: ckpt VERB [options]\n\nMerges, splits, reshards, shows and compares checkpoints that N cards saved.\n\n"
      "Verbs:\n";
  const auto line = [&](std::string word, const std::string& does) {
    word.resize(column - 2, ' ');
    text += "  " + word + does + "\n";
  };
  for (const Command& each : all) line(each.manual.verb, each.does);
  text += "\nExamples:\n";
  for (const char* const verb : {"inspect", "merge", "reshard"}) {
    const Manual::Example& example = find(all, verb)->manual.examples.front();
    text += "  " + example.purpose + "\n    " + example.command + "\n";
  }
  text +=
      "\nckpt VERB -h has a verb's usual options, ckpt VERB --help all of them; ckpt --version says which ckpt this "
      "is.\n"
      "Each verb is also a program of its own: ckpt-merge is ckpt merge.\n";
  return text;
}

/// What `ckpt man [VERB]` prints.
std::string page_of(const Words& words, const std::vector<Command>& all) {
  if (words.size() == 1) return overview_page(all);
  const Command* const command = find(all, words[1]);
  if (command == nullptr) refuse_verb(words[1], all);
  return verb_page(*command);
}

/// Runs what `ckpt WORDS...` says.
int run_words(const Words& words, const std::vector<Command>& all) {
  const std::string name(program_name);
  if (words.empty()) return print_text(name, overview(all), Stream::error) == 0 ? wrong_command_line : 1;
  const std::string& first = words.front();
  const bool asks_help = first == "help" || first == "--help" || first == "-h";
  if (asks_help && (words.size() == 1 || first != "help")) return print_text(name, overview(all));
  if (first == "--version" || first == "version") return print_text(name, name + " " + CKPT_VERSION + "\n");
  if (first == "man") return print_text(name, page_of(words, all));
  if (first == "completion") return print_text(name, completion(words.size() > 1 ? words[1] : "", all));
  const std::string& verb = asks_help ? words[1] : first;
  const Command* const command = find(all, verb);
  if (command == nullptr) refuse_verb(verb, all);
  if (asks_help) return command->run(command->manual, {"--help"});
  return command->run(command->manual, {words.begin() + 1, words.end()});
}

}  // namespace

int run_ckpt(const Words& words) {
  std::vector<Command> all = commands();
  for (Command& each : all) each.manual.verbs_with = verbs_with;
  const std::string name = words.empty() ? "" : std::filesystem::path(words.front()).filename().string();
  const Words rest(words.empty() ? words.end() : words.begin() + 1, words.end());
  for (Command& each : all) {
    if (name != "ckpt-" + each.manual.verb) continue;
    each.manual.name = name;
    return each.run(each.manual, rest);
  }
  try {
    return run_words(rest, all);
  } catch (const Error& error) {
    return print_refusal(std::string(program_name), error);
  }
}

}  // namespace ckpt::cli
