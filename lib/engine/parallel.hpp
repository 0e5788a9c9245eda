#pragma once

#include "engine/job.hpp"
#include "exchange/communicator.hpp"

namespace ckpt {

/// The threads of this process: as the job says, or the cores that are its own.
unsigned thread_count(const Job& job, const Communicator& processes);

/// How bytes get from reader to writer, `automatic` decided. `is_shared`: every process sees every source file. Throws
/// usage where the job asks for what cannot be.
ExchangeKind choose_exchange(const Job& job, bool is_shared, const Communicator& processes);

}  // namespace ckpt
