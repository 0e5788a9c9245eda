#pragma once

#include <string>
#include <vector>

#include "cli/expect_options.hpp"
#include "cli/messages.hpp"

namespace ckpt::cli {

/// The program's job, which determines its options.
enum class Verb { reshard, merge, split, verify };

/// A program that reads whole checkpoints.
struct Program {
  Verb verb = Verb::reshard;
  Manual manual;
};

/// The command line as written: nothing is looked up, converted or compared yet. Empty: not given.
struct Options {
  std::string source;
  std::string output;                ///< for ckpt-verify: B, the checkpoint to compare with
  std::vector<std::string> average;  ///< "W=SRC[:LAYOUT]"
  std::string source_layout;         ///< --layout
  std::string target_layout;         ///< --to, or split's --layout without it
  std::string only_layout;           ///< split's --layout as it was written
  std::string to_mesh;
  std::string cards;
  std::string uneven;
  std::vector<std::string> only;
  std::vector<std::string> drop;
  std::vector<std::string> rename;
  std::vector<std::string> first;
  std::string names;               ///< --names, with its #SIDE
  std::vector<std::string> sizes;  ///< --size
  bool allow_arithmetic = false;
  bool master_weights = false;
  std::vector<std::string> cast;
  std::string dequantize;
  std::vector<std::string> keep;
  std::vector<std::string> delta;
  std::string delta_layout;
  std::string model;
  std::string latest;
  std::string done;
  ExpectOptions expectation;
  std::string exchange;
  std::string memory;
  std::string device_memory;
  std::string stall_timeout;
  std::string threads;
  std::string replicas;
  std::string verify;
  std::string format;
  std::string leaves;
  std::string shard_size;
  std::string like;
  std::vector<std::string> unlike;
  bool view = false;  ///< --virtual
  bool crc = false;
  std::string digits;
  bool dry_run = false;
  bool strict = false;
  bool force = false;
  bool resume = false;
  bool no_fsync = false;
  std::string direct_io;
  std::string reflink;
  std::vector<std::string> allow_external;
  std::vector<std::string> number_types;
  std::string wait_for;
  std::string wait_timeout;
  std::string report;
  std::string trace;
  std::string tolerance;  ///< this and the next two: ckpt-verify's
  std::string fingerprints;
  bool json = false;
  bool alone = false;  ///< is_to_go_alone has seen it
  MessageOptions messages;
  std::string progress;
  std::string asked_text;             ///< what --help or --version is to print; nothing else is used then
  std::vector<std::string> unshared;  ///< every word but the checkpoints' paths: the same on all processes of a run
};

/// All that the program's help says of its options.
std::vector<OptionText> options_of(const Program& program);

/// Parses the words after the program's name. Throws usage: unknown options, missing values, options that contradict
/// each other.
Options parse_options(const Program& program, const std::vector<std::string>& words);

}  // namespace ckpt::cli
