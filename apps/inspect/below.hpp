#pragma once

#include <filesystem>

#include "report/output.hpp"
#include "store/store.hpp"

namespace ckpt::cli {

/// The checkpoints below a directory, as commands that show one, the newest step first; empty if there are none.
Lines commands_below(const std::filesystem::path& directory, SourceStore& store);

}  // namespace ckpt::cli
