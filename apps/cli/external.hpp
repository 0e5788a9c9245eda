#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

/// Declares the option for directories whose data files may show.
void declare_external(CommandLine& line, std::vector<std::string>& directories);

/// Lets files show data below these directories.
void allow_external(const std::vector<std::string>& directories, Stores& stores);

}  // namespace ckpt::cli
