#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "checkpoint/checkpoint.hpp"
#include "exchange/exchange.hpp"
#include "processes/communicator.hpp"

namespace ckpt {

enum class ExchangeKind { automatic, direct, mpi, nccl };

/// Limits for each process of a job.
struct Resources {
  std::uint64_t memory_bytes = 512ULL << 20;
  std::uint64_t device_memory_bytes = 2ULL << 30;                  ///< staging on the process's GPU
  std::chrono::seconds stall_limit{120};                           ///< how long GPUs may make no progress
  std::chrono::seconds patience = Communicator::default_patience;  ///< how long a process may be silent
  unsigned threads = 0;                                            ///< 0: the number of cores for this process
  ExchangeKind exchange = ExchangeKind::automatic;
};

/// The number of this process's threads: as asked for, or its cores.
unsigned thread_count(const Resources& resources, const Communicator& processes);

/// A checkpoint that is opened with the threads that a job may use.
CheckpointPlace with_threads(CheckpointPlace place, const Resources& resources, const Communicator& processes);

/// How many files each cache of a job with so many threads may hold open. Collective; throws io if the system allows
/// too few.
std::size_t open_files_allowed(unsigned threads, Communicator& processes);
/// As above, with the threads that a process has by default or was told to have.
std::size_t open_files_allowed(const Resources& resources, Communicator& processes);

/// The kind of exchange to use: as asked for, with `automatic` decided. `is_shared`: every process sees every source
/// file. Throws if the requested kind is not possible. Collective.
ExchangeKind choose_exchange(ExchangeKind wanted, bool is_shared, Communicator& processes);

/// Makes the exchange of a chosen kind; `memory_bytes` is its share for staging.
std::unique_ptr<Exchange> make_exchange(ExchangeKind kind, const Resources& resources, std::uint64_t memory_bytes,
                                        unsigned threads, Communicator& processes, bool has_large_chunks = false);

}  // namespace ckpt
