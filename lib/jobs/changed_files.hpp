#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/read_manifest.hpp"
#include "compare/damage.hpp"
#include "jobs/types/progress.hpp"

namespace ckpt {

/// Which of these files differ, byte for byte, from the checkpoint's manifest. The files must exist and have the right
/// sizes. Collective; the result is the same on every process.
std::vector<Damage> changed_files(const std::filesystem::path& checkpoint, const std::vector<ManifestFile>& files,
                                  unsigned threads, Communicator& processes, Counters& counters);

}  // namespace ckpt
