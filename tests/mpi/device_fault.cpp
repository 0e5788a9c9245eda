// In an exchange over devices one process of several fails in one of the ways that device_fault.sh knows. What each
// process is told goes to standard error.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

#include "exchange/device_exchange.hpp"
#include "mpi/exchange_contract.hpp"
#include "mpi/simulated_device.hpp"

namespace {

using ckpt::SimulatedDevice;

std::unique_ptr<SimulatedDevice> device_that_fails(const std::string& way, ckpt::Communicator& processes) {
  auto device = std::make_unique<SimulatedDevice>(processes, 1);
  using Fault = SimulatedDevice::Fault;
  if (processes.rank() != processes.size() - 1) return device;
  if (way == "hangs")
    device->fail_at("exchange", 2, Fault::hang);
  else if (way == "sticks")
    device->fail_at("exchange", 2, Fault::stuck);
  else
    device->fail_at(way, 2, Fault::error);
  return device;
}

int run(const std::string& way, ckpt::Communicator& processes) {
  ckpt::Staging staging{64ULL << 10, 2};
  staging.stall_limit = std::chrono::seconds(1);
  const auto exchange =
      device_exchange(processes, staging, "simulated", [&] { return device_that_fails(way, processes); });
  ckpt::contract::WorldMaker maker(1, processes.size(), exchange->chunk_bytes());
  for (std::uint64_t p = 0; p < static_cast<std::uint64_t>(processes.size()); ++p) maker.add(p, 40);
  const auto world = maker.take();
  ckpt::contract::MemoryWorkload work(world, processes, false, true);
  try {
    exchange->run(work);
    return 0;
  } catch (const ckpt::Error& error) {
    const std::string together = processes.failed_together() ? "together: " : "alone: ";
    std::cerr << "rank " + std::to_string(processes.rank()) + " " + together + error.what() + "\n";  // in one piece
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto processes = ckpt::mpi_world();
  const int status = run(argc > 1 ? argv[1] : "", *processes);
  processes->sum(0);  // messages that nobody takes any more are still under way: no MPI_Finalize
  std::_Exit(status);
}
