#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ckpt::cli {

/// JSON for a terminal or a file: valid whatever bytes its strings hold, and without characters that a terminal obeys.
/// A string that is not UTF-8 is given as `printable` shows it; where it is a member, its bytes stand in hexadecimal
/// beside it, as "name_hex" beside "name". `indent` is nlohmann's: -1 for one line.
std::string json_text(nlohmann::ordered_json json, int indent = 2);

}  // namespace ckpt::cli
