#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/expect_options.hpp"
#include "cli/messages.hpp"

namespace ckpt::cli {

/// The command line of inspect, or of draft, as written.
struct InspectOptions {
  std::string path;
  std::string layout;
  std::string as_layout;  ///< a strategy, or a checkpoint that describes its own layout
  std::vector<std::string> only;
  std::vector<std::string> drop;
  bool all = false;
  std::string key;  ///< to be looked up in the tables
  bool json = false;
  bool draft = false;
  std::string mesh;
  std::string tolerance;
  std::vector<std::string> unfused;
  ExpectOptions expectation;
  std::vector<std::string> allow_external;
  std::vector<std::string> number_types;
  std::string picture;
  std::string names;  ///< --names, with its #SIDE
  std::vector<std::string> sizes;
  bool alone = false;  ///< is_to_go_alone has seen it
  MessageOptions messages;
  std::string asked_text;  ///< what --help or --version is to print
};

/// All that the help of inspect, or of draft, says of its options.
std::vector<OptionText> inspect_options(const Manual& manual);

/// Throws usage.
InspectOptions parse_inspect_options(const Manual& manual, const std::vector<std::string>& words);

/// Runs inspect. Returns the exit status.
int run_inspect_program(const Manual& manual, const std::vector<std::string>& words);

}  // namespace ckpt::cli
