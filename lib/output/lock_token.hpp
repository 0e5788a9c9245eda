#pragma once

#include <optional>
#include <string>

namespace ckpt {

/// Identifies the holder of a lock in one line of JSON: host, process, since when; and what distinguishes this process
/// from another with its number: when it started, since which boot of which machine. A lock has one line, or several
/// that begin with the job's own.
std::string new_token();

/// Whether a text begins with such a line.
bool is_token(const std::string& text);

/// "process 1234 on host node7, since 2026-11-22T06:24:24Z", from the first line; "unknown" if it is no token.
std::string holder_in(const std::string& tokens);

/// Whether one of the processes lives; nothing if this machine cannot tell.
std::optional<bool> is_alive(const std::string& tokens);

/// 16 hexadecimal digits, different for each call.
std::string random_id();

}  // namespace ckpt
