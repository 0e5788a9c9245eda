#pragma once

#include <memory>

#include "engine/job.hpp"
#include "exchange/exchange.hpp"

namespace ckpt {

/// The threads of this process: as the job says, or the cores that are its own.
unsigned thread_count(const Job& job, const Communicator& processes);

/// How bytes get from reader to writer, `automatic` decided. `is_shared`: every process sees every source file. Throws
/// where the job asks for what cannot be. Collective.
ExchangeKind choose_exchange(const Job& job, bool is_shared, Communicator& processes);

/// The exchange of a kind that was chosen; `memory_bytes` is the job's share for staging.
std::unique_ptr<Exchange> make_exchange(ExchangeKind kind, const Job& job, std::uint64_t memory_bytes, unsigned threads,
                                        Communicator& processes);

}  // namespace ckpt
