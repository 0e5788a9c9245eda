#pragma once

#include "gpu/emulated/plan.hpp"
#include "mpi/exchange_contract.hpp"

namespace ckpt {

/// How one exchange over emulated GPUs ended on one process.
struct Ending {
  std::string error;
  bool is_together = false;
  std::string wrong;  ///< of what was written, where there was no error
  std::chrono::duration<double> time{};
};

inline constexpr std::chrono::seconds stall_limit{1};

/// Some rounds between all processes, by devices of which not everything may go well.
inline Ending run_planned(Communicator& processes, const emulated::Plan& plan) {
  emulated::start(plan);
  Staging staging{64ULL << 10, 2};
  staging.stall_limit = stall_limit;
  const auto exchange = nccl_exchange(processes, staging);
  contract::WorldMaker maker(plan.seed, processes.size(), exchange->chunk_bytes());
  for (std::uint64_t p = 0; p < static_cast<std::uint64_t>(processes.size()); ++p) maker.add(p, 14);
  const contract::World world = maker.take();
  contract::MemoryWorkload work(world, processes, false, true);
  Ending ending;
  const auto start = std::chrono::steady_clock::now();
  try {
    exchange->run(work);
    ending.wrong = work.wrong();
  } catch (const Error& error) {
    ending.error = error.what();
    ending.is_together = processes.failed_together();
  }
  ending.time = std::chrono::steady_clock::now() - start;
  return ending;
}

}  // namespace ckpt
