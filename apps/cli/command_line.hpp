#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ckpt::cli {

/// A verb's own parts of its help.
struct Manual {
  struct Example {
    std::string purpose;
    std::string command;
  };
  std::string verb;     ///< "merge"
  std::string name;     ///< as the program was called: "ckpt merge", "ckpt-merge"
  std::string usage;    ///< "[--layout A.json] SRC -o merged.h5"
  std::string purpose;  ///< a sentence or two
  std::vector<Example> examples;
  std::string exit_status;  ///< "0 done, 1 …"

  /// The program's name in reports, however it was called.
  std::string report_name() const { return "ckpt-" + verb; }
};

/// A program's options, declared group by group, and its help. Checks each word; the program itself checks combinations
/// of options. Nothing else uses CLI11.
class CommandLine {
 public:
  explicit CommandLine(const Manual& manual);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// Puts all options declared from here on under this heading.
  void group(const std::string& heading);
  void value(const std::string& names, std::string& to, const std::string& type, const std::string& text);
  /// An option that may be repeated; each use takes one value.
  void repeated(const std::string& names, std::vector<std::string>& to, const std::string& type,
                const std::string& text);
  void flag(const std::string& names, bool& to, const std::string& text);
  /// A word without an option; several are assigned in the order in which they are declared.
  void positional(const std::string& name, std::string& to);

  /// Parses the words after the program's name. Returns the text that --help or --version asks for, and then ignores
  /// the rest. Throws usage: unknown options, missing values, a word too many.
  std::optional<std::string> parse(const std::vector<std::string>& words);

  /// "see ckpt-merge --help".
  std::string see_help() const { return "see " + manual_.name + " --help"; }

 private:
  /// Refuses options that have no value, or more than one.
  [[noreturn]] void refuse_count(const std::vector<std::string>& words) const;

  std::string help() const;

  const Manual& manual_;
  std::unique_ptr<CLI::App> app_;
  std::string group_;
  std::vector<std::string> positionals_;
  bool asks_help_ = false;
  bool asks_version_ = false;
};

}  // namespace ckpt::cli
