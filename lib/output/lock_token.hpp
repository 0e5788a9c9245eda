#pragma once

#include <optional>
#include <string>

namespace ckpt {

/// Says who holds a lock, in one line of JSON: host, process, since when; and what tells this process from another with
/// its number: when it started, since which start of which machine. A lock holds one, or several with the job's own
/// first.
std::string new_token();

/// Whether a text begins with such a line.
bool is_token(const std::string& text);

/// "process 1234 on host node7, since 2026-11-22T06:24:24Z", of the first line; "unknown" of what is no token.
std::string holder_in(const std::string& tokens);

/// Whether one of the processes lives; nothing where that cannot be seen from this machine.
std::optional<bool> is_alive(const std::string& tokens);

/// 16 hexadecimal digits that no other call gives.
std::string random_id();

}  // namespace ckpt
