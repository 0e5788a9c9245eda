#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "processes/communicator.hpp"

namespace ckpt::cli {

using Seconds = std::chrono::duration<double>;

/// "30", "0.5". Throws usage.
Seconds parse_wait_timeout(const std::string& text);

/// Returns when `file` exists; throws io when it has not come within `timeout` (absent: waits for ever). Collective:
/// process 0 looks, and between looks every process sleeps: a collective call that waits for hours would keep all cores
/// busy.
void wait_for_file(const std::filesystem::path& file, std::optional<Seconds> timeout, Communicator& processes);

}  // namespace ckpt::cli
