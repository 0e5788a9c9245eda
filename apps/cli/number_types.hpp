#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "processes/communicator.hpp"
#include "store/number_rules.hpp"

namespace ckpt::cli {

/// Declares the option that states the true type of integers and opaque bytes.
void declare_number_types(CommandLine& line, std::vector<std::string>& rules);

/// Makes them rules. Throws usage for anything but DTYPE:GLOB.
void read_number_types(const std::vector<std::string>& rules, NumberRules& numbers);

/// Warns of rules that applied to no dataset. Collective.
void warn_of_unused_types(const std::vector<std::string>& rules, const NumberRules& numbers, Communicator& processes);

}  // namespace ckpt::cli
