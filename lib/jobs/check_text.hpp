#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/read_manifest.hpp"
#include "jobs/progress.hpp"
#include "proof/damage.hpp"

namespace ckpt {

/// The files of a checkpoint's text that are not, byte for byte, those of its manifest. Files that are there and of
/// the right sizes. Collective; the result is the same on every process.
std::vector<Damage> changed_text_files(const std::filesystem::path& checkpoint, const Manifest& manifest,
                                       unsigned threads, Communicator& processes, Counters& counters);

}  // namespace ckpt
