#include "cli/command_line.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ckpt::cli {

namespace {

constexpr std::size_t text_column = 30;
constexpr std::size_t line_width = 100;

/// Wraps `text` at line_width characters, and indents every line after the first.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  std::string result;
  std::string word;
  std::size_t column = indent;
  while (words >> word) {
    const bool first_of_line = column == indent;
    if (!first_of_line && column + 1 + word.size() > line_width) {
      result += "\n" + std::string(indent, ' ') + word;
      column = indent + word.size();
    } else {
      result += (first_of_line ? "" : " ") + word;
      column += word.size() + (first_of_line ? 0 : 1);
    }
  }
  return result;
}

/// An option's left side in the help: "  -o, --output PATH".
std::string left_side(const CLI::Option& option) {
  std::string names;
  for (const auto& name : option.get_snames()) names += "-" + name + ", ";
  for (const auto& name : option.get_lnames()) names += "--" + name + ", ";
  names.resize(names.size() - 2);
  if (option.get_expected_max() > 0) names += " " + option.get_type_name();
  return (option.get_snames().empty() ? "      " : "  ") + names;
}

std::string option_lines(const CLI::Option& option) {
  std::string left = left_side(option);
  if (left.size() + 2 > text_column)
    left += "\n" + std::string(text_column, ' ');
  else
    left.resize(text_column, ' ');
  return left + wrapped(option.get_description(), text_column) + "\n";
}

/// The options' groups in the order of their first option.
std::vector<std::string> groups_of(const std::vector<const CLI::Option*>& options) {
  std::vector<std::string> groups;
  for (const auto* option : options) {
    if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end())
      groups.push_back(option->get_group());
  }
  return groups;
}

/// A word that other programs use for one of our options.
struct Synonym {
  std::string_view word;
  std::string_view option;
};
constexpr std::array<Synonym, 42> synonyms{{
    {"--exclude", "--drop"},
    {"--ignore", "--drop"},
    {"--skip", "--drop"},
    {"--include", "--only"},
    {"--filter", "--only"},
    {"--select", "--only"},
    {"--params", "--only"},
    {"--name", "--param"},
    {"--dtype", "--cast"},
    {"--precision", "--cast"},
    {"--torch-dtype", "--cast"},
    {"--torch_dtype", "--cast"},
    {"--to-dtype", "--cast"},
    {"--bf16", "--cast"},
    {"--fp16", "--cast"},
    {"--overwrite", "--force"},
    {"--clobber", "--force"},
    {"--yes", "--force"},
    {"-y", "--force"},
    {"-f", "--force"},
    {"-j", "--threads"},
    {"--jobs", "--threads"},
    {"--workers", "--threads"},
    {"--num-workers", "--threads"},
    {"-n", "--cards"},
    {"--ranks", "--cards"},
    {"--gpus", "--cards"},
    {"--num-gpus", "--cards"},
    {"--world-size", "--cards"},
    {"--num-shards", "--cards"},
    {"--max-shard-size", "--shard-size"},
    {"--max_shard_size", "--shard-size"},
    {"--outdir", "-o"},
    {"--out", "-o"},
    {"--output-dir", "-o"},
    {"--output_dir", "-o"},
    {"--destination", "-o"},
    {"--map", "--rename"},
    {"--quiet-mode", "--quiet"},
    {"--continue", "--resume"},
    {"--restart", "--resume"},
    {"--dryrun", "--dry-run"},
}};

/// The option that an unknown word may mean: "did you mean --memory? ", or nothing.
std::string guess(const std::string& word, const CLI::App& app) {
  constexpr std::size_t alike = 4;  // the dashes and two letters
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string bare = word.substr(0, word.find('='));
  for (const Synonym& each : synonyms)
    if (each.word == bare && app.get_option_no_throw(std::string(each.option)) != nullptr)
      return "did you mean " + std::string(each.option) + "? ";
  const auto near = nearest(bare, names, 1);
  if (near.empty() || near[0].compare(0, alike, word, 0, alike) != 0) return "";
  return "did you mean " + near[0] + "? ";
}

}  // namespace

CommandLine::CommandLine(const Manual& manual) : manual_(manual), app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag();  // --help is an option like the others: CLI11's own text changes from version to version
  app_->allow_extras();
}

CommandLine::~CommandLine() = default;

void CommandLine::group(const std::string& heading) {
  group_ = heading;
}

void CommandLine::value(const std::string& names, std::string& to, const std::string& type, const std::string& text) {
  app_->add_option(names, to, text)->type_name(type)->group(group_);
}

void CommandLine::repeated(const std::string& names, std::vector<std::string>& to, const std::string& type,
                           const std::string& text) {
  // Without extra arguments `--only a SRC` leaves SRC alone, and brackets in globs are not parsed as lists.
  app_->add_option(names, to, text)->allow_extra_args(false)->type_name(type)->group(group_);
}

void CommandLine::flag(const std::string& names, bool& to, const std::string& text) {
  app_->add_flag(names, to, text)->group(group_);
}

void CommandLine::positional(const std::string& name, std::string& to) {
  positionals_.push_back(name);
  app_->add_option(name, to);
}

std::optional<std::string> CommandLine::parse(const std::vector<std::string>& words) {
  flag("--version", asks_version_, "print the version");
  flag("-h,--help", asks_help_, "print this help");
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // the order in which CLI11 takes them
    app_->parse(reversed);
  } catch (const CLI::ArgumentMismatch&) {
    refuse_count(words);
  } catch (const CLI::ParseError& error) {
    throw Error(Kind::usage, "", {error.what(), "", see_help()});
  }
  if (asks_help_) return help();
  if (asks_version_) return manual_.name + " " + CKPT_VERSION + "\n";
  const auto extra = app_->remaining();
  if (extra.empty()) return std::nullopt;
  const std::string& word = extra.front();
  if (word.size() > 1 && word[0] == '-')
    throw Error(Kind::usage, word, {"unknown option", "", guess(word, *app_) + see_help()});
  throw Error(Kind::usage, "'" + word + "'", {"one argument too many", "one " + join(positionals_), see_help()});
}

void CommandLine::refuse_count(const std::vector<std::string>& words) const {
  const CLI::App& app = *app_;
  for (const auto* option : app.get_options()) {
    std::string names;
    std::ptrdiff_t count = 0;
    for (const auto& name : option->get_lnames()) {
      const std::string word = "--" + name;
      names += (names.empty() ? "" : ", ") + word;
      count += std::count_if(words.begin(), words.end(),
                             [&](const std::string& given) { return given == word || given.starts_with(word + "="); });
    }
    for (const auto& name : option->get_snames())
      count += std::count_if(words.begin(), words.end(),
                             [&](const std::string& given) { return given.starts_with("-" + name); });
    const bool is_once =
        option->get_expected_max() == 1 && option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
    if (count > 1 && is_once)
      throw Error(Kind::usage, names, {"given " + std::to_string(count) + " times", "once", see_help()});
  }
  throw Error(Kind::usage, words.empty() ? "" : words.back(), {"no value", "one", see_help()});
}

std::string CommandLine::help() const {
  std::string text = "Usage: " + manual_.name + " " + manual_.usage + "\n\n" + wrapped(manual_.purpose, 0) + "\n";
  const CLI::App& app = *app_;
  const auto options = app.get_options([](const CLI::Option* option) { return option->nonpositional(); });
  for (const auto& heading : groups_of(options)) {
    text += "\n" + heading + ":\n";
    for (const auto* option : options) {
      if (option->get_group() == heading) text += option_lines(*option);
    }
  }
  text += "\nExamples:\n";
  for (const auto& example : manual_.examples)
    text += "  " + wrapped(example.purpose, 2) + "\n    " + example.command + "\n";
  return text + "\n" + wrapped("Exit status: " + manual_.exit_status, 0) + "\n";
}

}  // namespace ckpt::cli
