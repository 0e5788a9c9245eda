#include "cli/number_types.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "cli/expect_options.hpp"
#include "store/number_words.hpp"

namespace ckpt::cli {

void declare_number_types(CommandLine& line, std::vector<std::string>& rules) {
  line.repeated(
      "--as", rules, "DTYPE:GLOB",
      "read integers and opaque bytes, of datasets whose names in the files match, as numbers of this type and "
      "the same size, where the files don't say so themselves: for example --as 'bf16:*.weight'; may be "
      "repeated, the last that matches decides");
}

void read_number_types(const std::vector<std::string>& rules, NumberRules& numbers) {
  for (const std::string& text : rules) {
    const std::size_t colon = text.find(':');
    const auto dtype = type_by_word(text.substr(0, colon));
    if (colon == std::string::npos || colon + 1 == text.size() || !dtype)
      throw Error(Kind::usage, "--as '" + text + "'",
                  {dtype ? "no names" : "'" + text.substr(0, colon) + "', which is no type of numbers", "DTYPE:GLOB",
                   "write for example 'bf16:*.weight'"});
    const Pattern names = parse_globs("--as", {text.substr(colon + 1)}).front();
    numbers.add({*dtype, text, [names](const std::string& dataset) { return names.matches(dataset); }});
  }
}

void warn_of_unused_types(const std::vector<std::string>& rules, const NumberRules& numbers, Communicator& processes) {
  if (rules.empty()) return;
  const std::vector<bool> uses = numbers.uses();
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (processes.maximum(i < uses.size() && uses[i] ? 1 : 0) == 0)
      log::warn("--as '{}': no dataset whose name in its file matches has integers or opaque bytes of that size",
                rules[i]);
}

}  // namespace ckpt::cli
