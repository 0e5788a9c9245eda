#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

/// The option that says where data may lie that files only show.
void declare_external(CommandLine& line, std::vector<std::string>& directories);

/// Has them show what lies below these.
void allow_external(const std::vector<std::string>& directories, Stores& stores);

}  // namespace ckpt::cli
