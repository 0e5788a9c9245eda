#pragma once

#include <filesystem>
#include <string>

namespace ckpt {

/// The word that a small text file holds, as those that name a run's last checkpoint do. Empty where there are several,
/// or none, and for what is no file of at most 4 KiB: a pipe would be waited for, a device has no end.
std::string only_word(const std::filesystem::path& file);

}  // namespace ckpt
