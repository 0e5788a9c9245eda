#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "layout/language/layout.hpp"

namespace ckpt {

/// For a directory without any of the files that a layout names: the error that says under which other names the files
/// of all cards lie there, and how the layout must name them. `expected`: what the layout names. Returns nothing if no
/// names fit, or several do.
std::optional<Error> misnamed_files(const std::filesystem::path& directory, const Layout& layout,
                                    const std::string& expected);

}  // namespace ckpt
