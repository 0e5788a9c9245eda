#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "processes/communicator.hpp"

namespace ckpt {

/// Returns the process that sees most files in and below a directory, of those for which `may_read` holds; of several,
/// the first. Returns the number of processes if it holds for none. Collective.
std::uint64_t reader_of_directory(const std::filesystem::path& directory, bool may_read, Communicator& processes);

/// Which hosts need all of a directory's files.
enum class NeededOn { one_host, all_hosts };

/// Runs a collective step that needs all of a directory's files on one host, or on all. If it throws input, and hosts
/// see different files, the error says which files a host lacks that others have, and how it gets them.
void with_hosts_of_files(const std::filesystem::path& directory, NeededOn needed, Communicator& processes,
                         const std::function<void()>& step);

/// Compares samples of files that several hosts see with the same size and time: where each host has a disk of its own,
/// these may be different files. `is_seen`: which of them this process sees so. Throws input, naming both hosts, if
/// samples differ. Collective.
void check_alike_on_hosts(const std::vector<std::filesystem::path>& paths, const std::vector<bool>& is_seen,
                          Communicator& processes);

}  // namespace ckpt
