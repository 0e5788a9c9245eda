#pragma once

#include <spdlog/spdlog.h>

#include <string>
#include <vector>

namespace ckpt {

/// Sends the default logger to standard error as "ckpt-merge: warning: text", without colours or times.
/// `level` is spdlog's name: trace, debug, info, warn, error, off.
void start_log(const std::string& program, const std::string& level);

/// What has been warned of since, also where the level let no warning be printed.
std::vector<std::string> told_warnings();
/// The same for errors.
std::vector<std::string> told_errors();

/// Silences every rank but 0: only rank 0 prints.
void mute_log();

}  // namespace ckpt
