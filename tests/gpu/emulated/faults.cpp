// Every function of CUDA and NCCL that the adapter calls fails once, on one process of several, at the first, the
// second, the middle and the last call; then what some of them begin never ends.
#include <sstream>

#include "catch.hpp"
#include "gpu/emulated/worlds.hpp"
#include "mpi/main.hpp"

using namespace ckpt;
using emulated::Fault;
using emulated::Plan;

namespace {

constexpr std::chrono::seconds watchdog{5};

/// What an error of each function looks like. Those that only let go of something need not be noticed; a device that
/// breaks then is, by the next call.
struct Expected {
  const char* text;
  bool is_certain = true;
};
const std::map<std::string, Expected>& expected() {
  static const char* broken = "illegal memory access";
  static const std::map<std::string, Expected> all{
      {"cudaGetDeviceCount", {"no GPU on this machine: no CUDA-capable device"}},
      {"cudaSetDevice", {"cudaSetDevice"}},
      {"cudaFuncGetAttributes", {"loading kernels"}},
      {"cudaDeviceGetAttribute", {"cudaOccupancyMaxActiveBlocksPerMultiprocessor"}},
      {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", {"cudaOccupancyMaxActiveBlocksPerMultiprocessor"}},
      {"cudaStreamCreateWithFlags", {"cudaStreamCreate: out of memory"}},
      {"cudaEventCreateWithFlags", {"cudaEventCreate: out of memory"}},
      {"cudaMalloc", {"out of memory"}},
      {"cudaHostRegister", {"out of memory"}},
      {"cudaMemcpyAsync", {broken}},
      {"cudaMemsetAsync", {broken}},
      {"cudaLaunchKernel", {broken}},
      {"cudaEventRecord", {broken}},
      {"cudaStreamWaitEvent", {broken}},
      {"cudaEventQuery", {broken}},
      {"cudaFree", {broken, false}},
      {"cudaHostUnregister", {broken, false}},
      {"cudaStreamDestroy", {broken, false}},
      {"cudaEventDestroy", {broken, false}},
      {"ncclGetUniqueId", {"ncclGetUniqueId: unhandled system error"}},
      {"ncclCommInitRankConfig", {"ncclCommInitRankConfig: unhandled system error"}},
      {"ncclCommGetAsyncError", {"NCCL: remote process exited"}},
      {"ncclGroupStart", {"ncclGroupStart"}},
      {"ncclSend", {"ncclSend or ncclRecv"}},
      {"ncclRecv", {"ncclSend or ncclRecv"}},
      {"ncclGroupEnd", {"ncclGroupEnd"}},
      {"ncclCommFinalize", {"ncclCommFinalize: unhandled system error"}},
      {"ncclCommDestroy", {"", false}},
  };
  return all;
}

/// How often the failing process calls each function when all is well: known to all processes.
std::map<std::string, int> count_calls(Communicator& processes, int failing, std::uint64_t seed) {
  Plan plan;
  plan.seed = seed;
  const Ending ending = run_planned(processes, plan);
  CHECK(ending.error == "");
  CHECK(ending.wrong == "");
  CHECK(emulated::left() == "");
  std::ostringstream mine;
  for (const auto& [function, count] : emulated::calls()) mine << function << ' ' << count << '\n';
  std::istringstream theirs(processes.broadcast(mine.str(), failing));
  std::map<std::string, int> calls;
  std::string function;
  for (int count = 0; theirs >> function >> count;) calls[function] = count;
  calls.erase("cudaGetLastError");  // it tells of errors, and has none of its own
  return calls;
}

bool is_one(Communicator& processes, const std::string& text) {
  const auto all = processes.all_gather(text);
  return std::all_of(all.begin(), all.end(), [&](const std::string& each) { return each == all.front(); });
}

/// On all processes: the same error, in time, and nothing that is left behind; or a run as if nothing had happened.
void expect_end(Communicator& processes, int failing, const Plan& plan, const Expected& expect) {
  const Ending ending = run_planned(
      processes, processes.rank() == failing ? plan : emulated::plan_of("seed=" + std::to_string(plan.seed), 0));
  const bool has_fired = processes.broadcast(emulated::has_fired() ? "yes" : "no", failing) == "yes";
  const bool are_alike = is_one(processes, ending.error);
  CAPTURE(processes.rank(), failing, plan.failures.front().function, plan.failures.front().nth, plan.seed, has_fired);
  CHECK(are_alike);
  if (has_fired && expect.is_certain) CHECK(ending.error != "");
  if (!has_fired) CHECK(ending.error == "");
  if (ending.error == "") {
    CHECK(ending.wrong == "");
  } else {
    CHECK(ending.error.find(expect.text) != std::string::npos);
    if (ending.error.find(expect.text) == std::string::npos) CHECK(ending.error == expect.text);
    CHECK(ending.is_together);
    CHECK(ending.time < stall_limit + watchdog);
  }
  if (expect.is_certain) CHECK(emulated::left() == "");
}

}  // namespace

TEST_CASE("whatever call fails on whichever process, all end with its error") {
  Communicator& processes = test_world();
  std::vector<std::map<std::string, int>> calls_of;
  for (int p = 0; p < processes.size(); ++p) calls_of.push_back(count_calls(processes, p, 1));
  std::uint64_t seed = 1;
  for (const auto& [function, calls_of_first] : calls_of.front()) {  // which makes all that there are
    INFO(function << " is not in the list above");
    REQUIRE(expected().count(function) == 1);
    for (const int nth : {1, 2, calls_of_first / 2, calls_of_first}) {
      Plan plan;
      plan.failures = {{function, nth, Fault::error}};
      plan.seed = ++seed;
      int failing = static_cast<int>(seed) % processes.size();
      if (calls_of[static_cast<std::size_t>(failing)].count(function) == 0) failing = 0;
      if (nth > 0) expect_end(processes, failing, plan, expected().at(function));
    }
  }
}

TEST_CASE("a device that breaks while it is given up ends all the same") {
  Plan plan;
  plan.failures = {{"ncclGroupEnd", 2, Fault::error}, {"cudaDeviceSynchronize", 1, Fault::error}};
  expect_end(test_world(), test_world().size() - 1, plan, {"ncclGroupEnd", true});
}

TEST_CASE("whatever never ends between the devices is given up by all when nothing has moved for the time given") {
  Communicator& processes = test_world();
  std::uint64_t seed = 1;
  for (const auto& [function, nth] :
       {std::pair("ncclCommInitRankConfig", 1), std::pair("ncclGroupEnd", 2), std::pair("ncclSend", 2),
        std::pair("ncclRecv", 3), std::pair("ncclCommGetAsyncError", 9), std::pair("ncclCommFinalize", 1)}) {
    Plan plan;
    plan.failures = {{function, nth, Fault::hang}};
    plan.seed = ++seed;
    expect_end(processes, static_cast<int>(seed) % processes.size(), plan, {"no progress for 1 s"});
  }
}
