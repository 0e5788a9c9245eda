#pragma once

#include <filesystem>
#include <string>

namespace ckpt {

/// Returns what Lustre's `lfs getstripe` says of new files beside an output, in words: "1 for each new file; …" Empty
/// if there is no such command, or it knows nothing of that directory.
std::string stripes_of(const std::filesystem::path& output);

}  // namespace ckpt
