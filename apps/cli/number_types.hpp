#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt::cli {

/// Declares the option that states the true type of integers and opaque bytes.
void declare_number_types(CommandLine& line, std::vector<std::string>& rules);

/// Makes `store` read them so. Throws usage for anything but DTYPE:GLOB.
void read_number_types(const std::vector<std::string>& rules, SourceStore& store);

/// Warns of rules that applied to no dataset. Collective.
void tell_unused_types(const std::vector<std::string>& rules, const SourceStore& store, Communicator& processes);

}  // namespace ckpt::cli
