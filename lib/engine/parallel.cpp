#include "engine/parallel.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/error.hpp"

namespace ckpt {

/// Without a word from the job: the cores that a launcher bound this process to, else its share of the node's.
unsigned thread_count(const Job& job, const Communicator& processes) {
  if (job.threads != 0) return job.threads;
  const int all = static_cast<int>(std::thread::hardware_concurrency());  // as far as this process may use them
  const int node = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return static_cast<unsigned>(std::max(1, all < node ? all : all / processes.local_size()));
}

ExchangeKind choose_exchange(const Job& job, bool is_shared, const Communicator& processes) {
  if (job.exchange == ExchangeKind::direct && !is_shared)
    throw Error(Kind::usage, "--exchange direct",
                {"not every process sees every source file", "a file system that all share", "use --exchange mpi"});
  if (job.exchange != ExchangeKind::automatic) return job.exchange;
  const bool is_one_node = processes.local_size() == processes.size();
  return is_shared && is_one_node ? ExchangeKind::direct : ExchangeKind::mpi;
}

}  // namespace ckpt
