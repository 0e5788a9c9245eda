#pragma once

#include <string>

#include "cli/command_line.hpp"
#include "processes/communicator.hpp"

namespace ckpt::cli {

/// The options for messages on standard error.
struct MessageOptions {
  bool quiet = false;
  bool verbose = false;
  std::string log_level;
};

void declare_messages(CommandLine& line, MessageOptions& to);

/// Starts the log; only process 0 prints. Throws usage for options that contradict each other or an unknown level.
void start_messages(const Manual& manual, const MessageOptions& options, const Communicator& processes);

}  // namespace ckpt::cli
