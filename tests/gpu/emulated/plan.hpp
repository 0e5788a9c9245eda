#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// An emulated GPU: stand-ins for the functions of the CUDA runtime and of NCCL that lib/exchange/nccl calls, linked
// before the real libraries. A test says here what is to go wrong; a program is told by the environment variable
// EMULATED_GPU, whose words (separated by blanks) are read by `plan_of`.
namespace emulated {

enum class Fault : std::uint8_t {
  none,
  error,  ///< the call fails
  hang,   ///< what the call begins never ends
};

/// What the runtime does as if the program had forgotten it: each must be found.
enum class Plant : std::uint8_t {
  none,
  wait,         ///< cudaStreamWaitEvent does nothing: events are missing
  wait_link,    ///< the same in the second of the program's streams only
  wait_down,    ///< the same in the third
  record,       ///< cudaEventRecord does nothing
  query,        ///< cudaEventQuery says "reached" at once: memory is used again, or freed, too early
  link,         ///< the first answer of ncclCommGetAsyncError is "ready": an exchange before the link is up
  group,        ///< the same after a group: what follows it gets into the stream before it
  group_end,    ///< ncclGroupEnd does nothing: the group stays open
  unregistered  ///< cudaHostRegister does nothing
};

struct Plan {
  struct Failure {
    std::string function;
    int nth = 1;
    Fault fault = Fault::error;
  };
  std::vector<Failure> failures;
  Plant plant = Plant::none;
  std::uint64_t seed = 1;
  bool are_peers_silent = false;            ///< a process that has gone is not reported to the others
  std::uint64_t memory_bytes = 1ULL << 40;  ///< of the device
  int devices = 8;
};

/// "rank=1 fail=cudaMalloc:3 hang=ncclGroupEnd:2 plant=wait seed=7 peers=silent memory=1000000 devices=2". With "rank",
/// failures, plants and memory are for this process of the job alone.
Plan plan_of(const std::string& words, int rank);

/// Starts anew with a device on which nothing is left, for a test that carries out many plans in one process.
void start(const Plan& plan);

/// Since then: the calls of each function; whether a planned failure has taken place; and what the program has left
/// behind (memory, streams, an error that nobody took), or nothing; on a broken device that cannot be told.
std::map<std::string, int> calls();
bool has_fired();
std::string left();

}  // namespace emulated
