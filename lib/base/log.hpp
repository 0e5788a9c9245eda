#pragma once

#include <spdlog/spdlog.h>

#include <string>
#include <vector>

namespace ckpt {

/// Sends the default logger to standard error as "ckpt-merge: warning: text", without colours or times.
/// `level` is spdlog's name: trace, debug, info, warn, error, off.
void start_log(const std::string& program, const std::string& level);

/// Returns the warnings since then, including those that the level kept from being printed.
std::vector<std::string> told_warnings();
/// Returns the errors since then, including those that the level kept from being printed.
std::vector<std::string> told_errors();

/// Silences every rank except 0.
void mute_log();

}  // namespace ckpt
