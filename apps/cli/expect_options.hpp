#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "jobs/types/expectation.hpp"

namespace ckpt::cli {

/// The options that define the expected names, shapes and dtypes, as written.
struct ExpectOptions {
  std::string reference;
  std::vector<std::string> missing;
  std::vector<std::string> extra;
};

/// `what`: the parameters, in words for the help: "what would be written".
void declare_expectation(CommandLine& line, ExpectOptions& to, const std::string& what);

/// Nothing if nothing is expected. Throws usage for excuses without a reference; layout for an invalid pattern.
std::optional<Expectation> parse_expectation(const ExpectOptions& options);

/// Parses an option's patterns; the error for an invalid one names the option.
std::vector<Pattern> parse_globs(const std::string& option, const std::vector<std::string>& texts);

}  // namespace ckpt::cli
