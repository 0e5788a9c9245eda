#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ckpt::cli {

/// JSON for a terminal or a file: valid whatever bytes its strings contain, and without control characters. A string
/// that is not UTF-8 appears as `printable` shows it; a member gets its bytes in hexadecimal as well, "name_hex" beside
/// "name". `indent` is nlohmann's: -1 for one line.
std::string json_text(nlohmann::ordered_json json, int indent = 2);

}  // namespace ckpt::cli
