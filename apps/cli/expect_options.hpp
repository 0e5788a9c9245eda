#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "jobs/expectation.hpp"

namespace ckpt::cli {

/// The options that say what names, shapes and dtypes are expected, as written.
struct ExpectOptions {
  std::string reference;
  std::vector<std::string> missing;
  std::vector<std::string> extra;
};

/// `what`: of which parameters, for the help: "what would be written".
void declare_expectation(CommandLine& line, ExpectOptions& to, const std::string& what);

/// Nothing where nothing is expected. Throws usage: excuses without a reference; layout: what is no pattern.
std::optional<Expectation> parse_expectation(const ExpectOptions& options);

/// Patterns as options give them; the error of one that is none names the option.
std::vector<Pattern> parse_globs(const std::string& option, const std::vector<std::string>& texts);

}  // namespace ckpt::cli
