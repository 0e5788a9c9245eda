#pragma once

#include <filesystem>
#include <string>

#include "jobs/types/reshard_job.hpp"
#include "processes/communicator.hpp"

namespace ckpt::cli {

/// The layout in a file (or, for "-", standard input): JSON, or a strategy of MindSpore, distinguished by content; for
/// a directory, the layout of all strategies in it together. If a strategy does not state a parameter's number of
/// dimensions, it comes from `checkpoint`, if that is not empty. Process 0 reads for all: only it gets standard input,
/// and a file may exist only on its node. Collective; throws layout, the same on every process.
Layout read_layout(const std::string& file, const std::filesystem::path& checkpoint, Communicator& processes);

/// As read_layout, and whether the text names the cards' files.
struct LayoutOfFiles {
  Layout layout;
  bool names_files = false;
};
LayoutOfFiles read_layout_of_files(const std::string& file, const std::filesystem::path& checkpoint,
                                   Communicator& processes);

}  // namespace ckpt::cli
