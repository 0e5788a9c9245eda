#pragma once

#include "jobs/types/reshard_job.hpp"
#include "processes/communicator.hpp"
#include "store/stores.hpp"

namespace ckpt {

/// Runs the job, on files as `stores` see them. Collective: every process calls it with the same job, except for its
/// own `source.path`. Throws ckpt::Error, the same on every process; then nothing has been published.
Report reshard(const ReshardJob& job, Stores& stores, Communicator& processes, Counters& counters);

}  // namespace ckpt
