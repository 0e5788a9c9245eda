#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/manual.hpp"

namespace CLI {
class App;
}

namespace ckpt::cli {

/// A verb's options, declared topic by topic: once, for parsing, help, manual pages and completions. Checks each word;
/// the verb itself checks combinations of options. Nothing else uses CLI11.
class CommandLine {
 public:
  explicit CommandLine(const Manual& manual);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// Makes this the topic of all options declared from here on.
  void group(const std::string& heading);
  /// `names`: "-o,--output,(--out)"; one in parentheses is taken, but not shown. `type`: "PATH"; "json|tree" where the
  /// value is one of these words.
  void value(const std::string& names, std::string& to, const std::string& type, const std::string& text);
  /// An option whose value may be left out, if it is the last word: then `to` becomes `without`.
  void value_or_none(const std::string& names, std::string& to, const std::string& type, const std::string& text,
                     const std::string& without);
  /// An option that may be repeated; each use takes one value.
  void repeated(const std::string& names, std::vector<std::string>& to, const std::string& type,
                const std::string& text);
  void flag(const std::string& names, bool& to, const std::string& text);
  /// A word without an option; several are assigned in the order in which they are declared.
  void positional(const std::string& name, std::string& to);

  /// All options, those for help and the version last.
  const std::vector<OptionText>& options();

  /// Parses the words after the program's name. Returns the text that -h, --help or --version asks for, and then
  /// ignores the rest. Throws usage: unknown options, missing values, a word too many.
  std::optional<std::string> parse(const std::vector<std::string>& words);

  /// "see ckpt-merge --help".
  std::string see_help() const { return "see " + manual_.name + " --help"; }

 private:
  /// "it belongs to ckpt split, reshard; ", or nothing.
  std::string elsewhere(const std::string& word) const;
  /// Throws usage if all words behind the first are paths, too: the shell's glob gave them.
  void refuse_paths(const std::vector<std::string>& extra) const;
  /// Refuses options that have no value, or more than one.
  [[noreturn]] void refuse_count(const std::vector<std::string>& words) const;

  /// Keeps an option's description. Returns all its names as CLI11 takes them.
  std::string note(const std::string& names, const std::string& type, const std::string& text, bool is_repeated);

  const Manual& manual_;
  std::unique_ptr<CLI::App> app_;
  std::string group_;
  std::vector<OptionText> options_;
  bool is_closed_ = false;  ///< those for help and the version are declared
  std::vector<std::string> positionals_;
  bool asks_brief_ = false;
  bool asks_help_ = false;
  bool asks_version_ = false;
};

}  // namespace ckpt::cli
