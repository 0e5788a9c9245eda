#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt::cli {

/// The option that says what integers and opaque bytes really are.
void declare_number_types(CommandLine& line, std::vector<std::string>& rules);

/// Has `store` read them so. Throws usage for what is no DTYPE:GLOB.
void read_number_types(const std::vector<std::string>& rules, SourceStore& store);

/// Warns of those that no dataset was read by. Collective.
void tell_unused_types(const std::vector<std::string>& rules, const SourceStore& store, Communicator& processes);

}  // namespace ckpt::cli
