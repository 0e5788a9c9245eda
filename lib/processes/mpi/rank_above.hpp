#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "processes/mpi/launch.hpp"

namespace ckpt {

/// A process above this one that has its place in the MPI job or Slurm step: one that was started with the same rank in
/// its environment. It may be a wrapper script, which leaves the place to this process, or a rank of the job itself.
struct RankAbove {
  std::uint64_t process = 0;  ///< its number
  bool is_connected = false;  ///< it has an open connection to the launcher's server (PMIx): the place is taken
  bool has_mpi = false;       ///< MPI is loaded there
};

/// The nearest one that is connected; else the nearest that has MPI; else the nearest. Nothing where there is none, and
/// where the system does not let this process look. `proc`: where the system tells of its processes.
std::optional<RankAbove> rank_above(const LaunchEnvironment& environment, const std::filesystem::path& proc = "/proc");

}  // namespace ckpt
