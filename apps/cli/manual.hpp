#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ckpt::cli {

/// A verb's own parts of its help.
struct Manual {
  struct Example {
    std::string purpose;
    std::string command;
  };
  std::string verb;                ///< "merge"
  std::string name;                ///< as the program was called: "ckpt merge", "ckpt-merge"
  std::string usage;               ///< "[--layout A.json] SRC -o merged.h5"
  std::string purpose;             ///< a few sentences; -h prints the first
  std::vector<Example> examples;   ///< -h prints the first three
  std::string exit_status;         ///< "0 done, 1 …"
  std::vector<std::string> usual;  ///< the options that -h prints
  /// Returns the verbs that have an option. Null: only this verb is known.
  std::function<std::vector<std::string>(const std::string& option)> verbs_with = {};

  /// The program's name in reports, however it was called.
  std::string report_name() const { return "ckpt-" + verb; }
};

/// An option as a verb declares it. Parsing, both helps, manual pages and completions are made of this.
struct OptionText {
  std::vector<std::string> names;  ///< those that are shown: "-o", "--output"
  std::string type;                ///< "PATH", "json|tree"; empty: it takes no value
  std::string text;
  std::string topic;
  bool is_repeated = false;

  bool has_name(const std::string& name) const;
  /// "-o, --output PATH".
  std::string spelling() const;
  /// The text up to its first semicolon, colon or example, for places where one line must do.
  std::string in_short() const;
  /// The words among which the value is chosen: {"json", "tree"}; empty if it is free.
  std::vector<std::string> choices() const;
};

/// One topic of a verb's options, in the order in which they were declared.
struct Topic {
  std::string heading;
  std::vector<const OptionText*> options;
};
std::vector<Topic> topics_of(const std::vector<OptionText>& options);

/// -h: the usage, three examples and the usual options, on one screen.
std::string brief_help(const Manual& manual, const std::vector<OptionText>& options);

/// --help: all of it, examples first, then the options by topic.
std::string full_help(const Manual& manual, const std::vector<OptionText>& options);

}  // namespace ckpt::cli
