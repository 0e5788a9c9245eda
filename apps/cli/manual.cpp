#include "cli/manual.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "report/table.hpp"

namespace ckpt::cli {

namespace {

constexpr std::size_t text_column = 30;
constexpr std::size_t line_width = 100;
constexpr std::size_t brief_examples = 3;

/// Wraps text at line_width columns, and indents every line after the first.
std::string indented(const std::string& text, std::size_t indent) {
  std::string result;
  for (const std::string& line : wrapped(text, line_width - indent))
    result += (result.empty() ? "" : "\n" + std::string(indent, ' ')) + line;
  return result;
}

/// An option, and the text beside it from text_column on, or below it if there is no room.
std::string beside(const OptionText& option, const std::string& text) {
  std::string left = (option.names.front().starts_with("--") ? "      " : "  ") + option.spelling();
  if (left.size() + 2 > text_column)
    left += "\n" + std::string(text_column, ' ');
  else
    left.resize(text_column, ' ');
  return left + indented(text, text_column) + "\n";
}

std::string head(const Manual& manual, const std::string& purpose, std::size_t most_examples) {
  std::string text = "Usage: " + manual.name + " " + manual.usage + "\n\n" + indented(purpose, 0) + "\n\nExamples:\n";
  for (std::size_t i = 0; i < std::min(most_examples, manual.examples.size()); ++i)
    text += "  " + indented(manual.examples[i].purpose, 2) + "\n    " + manual.examples[i].command + "\n";
  return text;
}

std::string first_sentence(const std::string& text) {
  const std::size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

}  // namespace

bool OptionText::has_name(const std::string& name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string OptionText::spelling() const {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return type.empty() ? all : all + " " + type;
}

std::string OptionText::in_short() const {
  std::size_t end = text.size();
  for (const char* const mark : {"; ", ": ", ", for example", " (", ". "}) end = std::min(end, text.find(mark));
  return text.substr(0, end);
}

std::vector<std::string> OptionText::choices() const {
  std::vector<std::string> words;
  std::istringstream parts(type);
  for (std::string word; std::getline(parts, word, '|');) {
    const bool is_literal =
        std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c) != 0; });
    if (is_literal) words.push_back(word);
  }
  return words;
}

std::vector<Topic> topics_of(const std::vector<OptionText>& options) {
  std::vector<Topic> topics;
  for (const OptionText& option : options) {
    auto topic =
        std::find_if(topics.begin(), topics.end(), [&](const Topic& it) { return it.heading == option.topic; });
    if (topic == topics.end()) topic = topics.insert(topics.end(), {option.topic, {}});
    topic->options.push_back(&option);
  }
  return topics;
}

std::string brief_help(const Manual& manual, const std::vector<OptionText>& options) {
  std::string text = head(manual, first_sentence(manual.purpose), brief_examples) + "\nOptions:\n";
  for (const std::string& name : manual.usual)
    for (const OptionText& option : options)
      if (option.has_name(name)) text += beside(option, option.in_short());
  return text + "\nAll " + std::to_string(options.size()) + " options, by topic: " + manual.name + " --help\n";
}

std::string full_help(const Manual& manual, const std::vector<OptionText>& options) {
  std::string text = head(manual, manual.purpose, manual.examples.size());
  for (const Topic& topic : topics_of(options)) {
    text += "\n" + topic.heading + ":\n";
    for (const OptionText* const option : topic.options) text += beside(*option, option->text);
  }
  return text + "\n" + indented("Exit status: " + manual.exit_status, 0) + "\n";
}

}  // namespace ckpt::cli
