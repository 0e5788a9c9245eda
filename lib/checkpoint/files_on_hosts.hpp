#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "processes/communicator.hpp"

namespace ckpt {

/// Returns the processes that may read what a directory says of itself, in the order in which to try them: one for each
/// host if hosts see different numbers of files in and below it, those with most files first; else the first alone for
/// which `may_read` holds. Empty if it holds for none. Collective.
std::vector<std::uint64_t> readers_of_directory(const std::filesystem::path& directory, bool may_read,
                                                Communicator& processes);

/// Returns whether this process's host sees all files in and below a directory that any host sees: only such a host may
/// read a directory in which a missing file stands for values. Throws input, naming what is lacking, if none does.
/// Collective.
bool sees_all_files(const std::filesystem::path& directory, Communicator& processes);

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
