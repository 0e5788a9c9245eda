#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "processes/communicator.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A file whose metadata is wanted, and the process that reads it.
struct FileToRead {
  std::filesystem::path path;
  std::uint64_t reader = 0;
};

/// Chooses the process that reads each file: the processes that see it take turns. Process 0 takes files that none
/// sees, in order to report them. Collective.
std::vector<FileToRead> with_readers(const std::vector<std::filesystem::path>& files, Communicator& processes);

/// The metadata of the files, in their order, the same on every process. Collective, called with the same readers
/// everywhere; throws input if a file cannot be read.
std::vector<FileCatalog> read_catalogs(const std::vector<FileToRead>& files, SourceStore& store,
                                       Communicator& processes);

}  // namespace ckpt
