#include "cli/command_line.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "cli/synonyms.hpp"

namespace ckpt::cli {

namespace {

/// The option that an unknown word may mean: "did you mean --memory? ", or nothing.
std::string guess(const std::string& word, const std::vector<OptionText>& options) {
  constexpr std::size_t alike = 4;  // the dashes and two letters
  std::vector<std::string> names;
  for (const OptionText& option : options)
    for (const std::string& name : option.names)
      if (name.starts_with("--")) names.push_back(name);
  const std::string bare = word.substr(0, word.find('='));
  std::string meant;
  for (const std::string_view option : options_like(bare))
    if (std::ranges::find(names, option) != names.end()) meant += (meant.empty() ? "" : " or ") + std::string(option);
  if (!meant.empty()) return "did you mean " + meant + "? ";
  const auto near = nearest(bare, names, 1);
  if (near.empty()) return "";
  const bool has_letters_swapped = std::ranges::is_permutation(near[0], bare);  // --fromat
  if (!has_letters_swapped && near[0].compare(0, alike, word, 0, alike) != 0) return "";
  return "did you mean " + near[0] + "? ";
}

/// Returns which option a surplus word was meant for, as a remedy; empty if that cannot be told.
std::string place_of(const std::string& word, const std::vector<OptionText>& options) {
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(options, [&](const OptionText& option) { return option.has_name(name); });
  };
  std::error_code error;
  if (word.ends_with(".json") && has("--layout")) return "give a layout with --layout; ";
  if (std::filesystem::exists(word, error)) return has("--average") ? "--average averages several; " : "";
  const std::size_t equals = word.find('=');
  const bool is_axis = equals != std::string::npos && equals != 0 && equals + 1 < word.size() &&
                       word.find_first_not_of("0123456789", equals + 1) == std::string::npos;
  if (is_axis) return "axes are joined by commas: dp=2,tp=4; ";
  return has("--output") ? "give the output with -o: -o " + shell_word(word) + "; " : "";
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

std::string CommandLine::note(const std::string& names, const std::string& type, const std::string& text,
                              bool is_repeated) {
  OptionText option{{}, type, text, group_, is_repeated};
  std::string all;
  std::istringstream parts(names);
  for (std::string name; std::getline(parts, name, ',');) {
    const bool is_alias = name.starts_with('(');
    if (is_alias) name = name.substr(1, name.size() - 2);
    if (!is_alias) option.names.push_back(name);
    all += (all.empty() ? "" : ",") + name;
  }
  if (!option.names.empty()) options_.push_back(std::move(option));
  return all;
}

void CommandLine::value(const std::string& names, std::string& to, const std::string& type, const std::string& text) {
  app_->add_option(note(names, type, text, false), to);
}

void CommandLine::value_or_none(const std::string& names, std::string& to, const std::string& type,
                                const std::string& text, const std::string& without) {
  app_->add_option(note(names, type, text, false), to)->expected(0, 1)->default_str(without);
}

void CommandLine::repeated(const std::string& names, std::vector<std::string>& to, const std::string& type,
                           const std::string& text) {
  // Without extra arguments `--only a SRC` leaves SRC alone, and brackets in globs are not parsed as lists.
  app_->add_option(note(names, type, text, true), to)->allow_extra_args(false);
}

void CommandLine::several(const std::string& names, std::vector<std::string>& to, const std::string& type,
                          const std::string& text) {
  app_->add_option(note(names, type, text, true), to);
}

void CommandLine::flag(const std::string& names, bool& to, const std::string& text) {
  app_->add_flag(note(names, "", text, false), to);
}

void CommandLine::positional(const std::string& name, std::string& to) {
  positionals_.push_back(name);
  app_->add_option(name, to);
}

const std::vector<OptionText>& CommandLine::options() {
  if (is_closed_) return options_;
  is_closed_ = true;
  group("Help");
  flag("-h", asks_brief_, "print the usual options and three examples, on one screen");
  flag("--help", asks_help_, "print this help");
  flag("--version", asks_version_, "print the version");
  return options_;
}

void CommandLine::refuse_paths(const std::vector<std::string>& extra) const {
  const std::size_t paths = positionals_.size() + extra.size();
  std::error_code error;
  const bool are_there =
      std::ranges::all_of(extra, [&](const std::string& each) { return std::filesystem::exists(each, error); });
  if (are_there && paths > 2)
    throw Error(Kind::usage, "",
                {std::to_string(paths) + " paths given (a glob?)", join(positionals_) + " alone",
                 "give the directory that holds the files"});
}

std::optional<std::string> CommandLine::parse(const std::vector<std::string>& words) {
  const std::vector<OptionText>& options = this->options();
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // the order in which CLI11 takes them
    app_->parse(reversed);
  } catch (const CLI::ArgumentMismatch&) {
    refuse_count(words);
  } catch (const CLI::ParseError& error) {
    throw Error(Kind::usage, "", {error.what(), "", see_help()});
  }
  if (asks_help_) return full_help(manual_, options);
  if (asks_brief_) return brief_help(manual_, options);
  if (asks_version_) return manual_.name + " " + CKPT_VERSION + "\n";
  const auto extra = app_->remaining();
  if (extra.empty()) return std::nullopt;
  const std::string& word = extra.front();
  if (word.size() > 1 && word[0] == '-')
    throw Error(Kind::usage, word, {"unknown option", "", guess(word, options) + elsewhere(word) + see_help()});
  refuse_paths(extra);
  throw Error(Kind::usage, "'" + word + "'",
              {"one argument too many", "one " + join(positionals_), place_of(word, options) + see_help()});
}

std::string CommandLine::elsewhere(const std::string& word) const {
  if (!manual_.verbs_with) return "";
  const std::vector<std::string> verbs = manual_.verbs_with(word.substr(0, word.find('=')));
  return verbs.empty() ? "" : "it belongs to ckpt " + join(verbs) + "; ";
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

}  // namespace ckpt::cli
