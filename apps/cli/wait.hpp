#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/done_file.hpp"
#include "processes/communicator.hpp"

namespace ckpt::cli {

using Seconds = std::chrono::duration<double>;

/// Parses "30", "0.5", in seconds. Throws usage.
Seconds parse_wait_timeout(const std::string& text);

/// What a job waits for: a file, or a line in a done-file.
struct WaitTarget {
  std::filesystem::path file;
  std::optional<DoneLine> line;
};

/// Parses "step_1000/done", "OUT/donefile.txt:20190720/6".
WaitTarget parse_awaited(const std::string& text);

/// Returns when the file exists and has the line. Throws io if that takes longer than `timeout` (absent: waits
/// forever), input if the done-file is damaged. Collective: process 0 looks, and every process sleeps between looks,
/// because a collective call that waits for hours would keep all cores busy.
void wait_for(const WaitTarget& awaited, std::optional<Seconds> timeout, Communicator& processes);

}  // namespace ckpt::cli
