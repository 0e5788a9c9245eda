#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace ckpt::cli {

using Words = std::vector<std::string>;

/// A verb of ckpt.
struct Command {
  std::string does;  ///< one line of ckpt's help
  Manual manual;
  std::vector<OptionText> (*options)(const Manual& manual);
  int (*run)(const Manual& manual, const Words& words);  ///< the words after the verb; returns the exit status
};

Command merge_command();
Command split_command();
Command reshard_command();
Command inspect_command();
Command draft_command();
Command verify_command();

/// Runs ckpt. `words`: as main has them, the program's name first. By that name it is one of its verbs (ckpt-merge) or
/// finds the verb in the next word. Returns the exit status.
int run_ckpt(const Words& words);

}  // namespace ckpt::cli
