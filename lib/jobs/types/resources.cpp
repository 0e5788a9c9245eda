#include "jobs/types/resources.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "checkpoint/file_cache.hpp"

namespace ckpt {

/// By default, the cores that a launcher bound this process to, else its share of the node's.
unsigned thread_count(const Resources& resources, const Communicator& processes) {
  if (resources.threads != 0) return resources.threads;
  return processes.processors();
}

CheckpointPlace with_threads(CheckpointPlace place, const Resources& resources, const Communicator& processes) {
  place.threads = thread_count(resources, processes);
  return place;
}

std::size_t open_files_allowed(unsigned threads, Communicator& processes) {
  std::size_t most_open = 0;
  agree(processes, [&] { most_open = files_in_cache(threads); });
  return most_open;
}

std::size_t open_files_allowed(const Resources& resources, Communicator& processes) {
  return open_files_allowed(thread_count(resources, processes), processes);
}

ExchangeKind choose_exchange(ExchangeKind wanted, bool is_shared, Communicator& processes) {
  const bool is_automatic = wanted == ExchangeKind::automatic;
  // If all processes are on one node and see the sources, reading is always cheaper than sending.
  if (is_automatic && is_shared && processes.local_size() == processes.size()) return ExchangeKind::direct;
  const bool may_be_nccl = is_automatic || wanted == ExchangeKind::nccl;
  const std::string no_nccl = may_be_nccl ? why_no_nccl(processes) : "";
  agree(processes, [&] {
    if (wanted == ExchangeKind::direct && !is_shared)
      throw Error(Kind::usage, "direct exchange",
                  {"not every process sees the same source files",
                   "a file system that all share",
                   "",
                   {Advice::What::other_exchange, "mpi"}});
    if (wanted == ExchangeKind::nccl && !no_nccl.empty())
      throw Error(Kind::io, "nccl exchange", {no_nccl, "", "", {Advice::What::other_exchange, "auto, direct or mpi"}});
  });
  if (!is_automatic) return wanted;
  return no_nccl.empty() ? ExchangeKind::nccl : ExchangeKind::mpi;
}

std::unique_ptr<Exchange> make_exchange(ExchangeKind kind, const Resources& resources, std::uint64_t memory_bytes,
                                        unsigned threads, Communicator& processes, bool has_large_chunks) {
  const Staging staging{memory_bytes, threads, resources.device_memory_bytes, resources.stall_limit, has_large_chunks};
  if (kind == ExchangeKind::direct) return direct_exchange(processes, staging);
  if (kind == ExchangeKind::nccl) return nccl_exchange(processes, staging);
  return message_exchange(processes, staging);
}

}  // namespace ckpt
