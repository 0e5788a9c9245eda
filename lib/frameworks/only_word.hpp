#pragma once

#include <filesystem>
#include <string>

namespace ckpt {

/// The only word in a small text file, such as one that names a run's last checkpoint. Empty if there are several words
/// or none, and for anything but a regular file of at most 4 KiB: reading a pipe might block, and a device has no end.
std::string only_word(const std::filesystem::path& file);

}  // namespace ckpt
