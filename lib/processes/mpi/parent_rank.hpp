#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "processes/mpi/launch.hpp"

namespace ckpt {

/// A parent process that has this one's place in the MPI job or Slurm step: it was started with the same rank in its
/// environment. It may be a wrapper script, which leaves the place to this process, or a rank of the job itself.
struct ParentRank {
  std::uint64_t process = 0;  ///< its process id
  bool is_connected = false;  ///< it is connected to the launcher's server (PMIx): the place is taken
  bool has_mpi = false;       ///< it has loaded MPI
};

/// Returns the nearest such process that is connected; else the nearest with MPI; else the nearest. Nothing if there is
/// none, or if the system does not permit a look. `proc`: the system's directory of processes.
std::optional<ParentRank> parent_rank(const LaunchEnvironment& environment,
                                      const std::filesystem::path& proc = "/proc");

}  // namespace ckpt
