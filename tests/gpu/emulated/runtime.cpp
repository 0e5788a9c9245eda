// The shared state, the plan of what goes wrong, and the end of a process that misuses the device.
#include "gpu/emulated/runtime.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "gpu/emulated/memory.hpp"
#include "gpu/emulated/nccl.hpp"
#include "gpu/emulated/streams.hpp"

namespace emulated {

namespace {

constexpr int misuse_status = 86;

int rank_in_job() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  return 0;
}

Plan plan_of_environment() {
  const char* words = std::getenv("EMULATED_GPU");
  return plan_of(words == nullptr ? "" : words, rank_in_job());
}

/// Not two processes alike.
std::uint64_t seed_of(const Plan& plan) {
  return plan.seed * 1000 + static_cast<std::uint64_t>(rank_in_job());
}

void apply(Runtime& all, const Plan& plan) {
  all.plan = plan;
  all.engine.seed(seed_of(plan));
  all.calls.clear();
  all.has_fired = false;
  all.last = all.broken = cudaSuccess;
  all.lagging = static_cast<unsigned>(all.below(3));
  all.streams_made = 0;
}

[[noreturn]] void end_with(const std::string& line) {
  std::fputs(("emulated GPU: " + line + "\n").c_str(), stderr);
  std::_Exit(misuse_status);
}

Plant plant_of(const std::string& name) {
  static const std::map<std::string, Plant> plants{
      {"none", Plant::none},           {"wait", Plant::wait},
      {"wait-link", Plant::wait_link}, {"wait-down", Plant::wait_down},
      {"record", Plant::record},       {"query", Plant::query},
      {"link", Plant::link},           {"group", Plant::group},
      {"unclosed", Plant::group_end},  {"unregistered", Plant::unregistered}};
  const auto at = plants.find(name);
  if (at == plants.end()) end_with("no plant is called " + name);
  return at->second;
}

/// Errors after which CUDA does nothing more for a process.
bool breaks(cudaError_t status) {
  return status == cudaErrorIllegalAddress || status == cudaErrorLaunchFailure;
}

}  // namespace

Plan plan_of(const std::string& words, int rank) {
  Plan plan;
  bool is_for_this = true;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "rank") {
      is_for_this = std::stoi(value) == rank;
    } else if (key == "fail" || key == "hang") {
      const auto colon = value.find(':');
      const int nth = colon == std::string::npos ? 1 : std::stoi(value.substr(colon + 1));
      plan.failures.push_back({value.substr(0, colon), nth, key == "fail" ? Fault::error : Fault::hang});
    } else if (key == "plant") {
      plan.plant = plant_of(value);
    } else if (key == "seed") {
      plan.seed = std::stoull(value);
    } else if (key == "peers") {
      plan.are_peers_silent = value == "silent";
    } else if (key == "memory") {
      plan.memory_bytes = std::stoull(value);
    } else if (key == "devices") {
      plan.devices = std::stoi(value);
    } else {
      end_with("EMULATED_GPU has an unknown word: " + word);
    }
  }
  if (!is_for_this) {
    plan.failures.clear();
    plan.plant = Plant::none;
    plan.memory_bytes = Plan().memory_bytes;
  }
  return plan;
}

Runtime& runtime() {
  static Runtime* all = [] {  // never destroyed: workers outlive main
    auto* made = new Runtime;
    apply(*made, plan_of_environment());
    return made;
  }();
  return *all;
}

void misuse(const std::string& what) {
  end_with("MISUSE: " + what + " (rank " + std::to_string(rank_in_job()) + ", seed " +
           std::to_string(runtime().plan.seed) + ")");
}

Call::Call(const char* function) : lock_(runtime().mutex) {
  Runtime& all = runtime();
  if (all.user == std::thread::id()) all.user = std::this_thread::get_id();
  if (all.user != std::this_thread::get_id()) misuse(std::string(function) + " is called by a second thread");
  const int count = ++all.calls[function];
  for (const Plan::Failure& each : all.plan.failures)
    if (each.function == function && each.nth == count) {
      act_ = each.fault;
      all.has_fired = true;
    }
}

std::optional<cudaError_t> Call::refusal(cudaError_t planned) {
  if (runtime().is_broken()) return answer(runtime().broken);
  if (act_ != Fault::error) return std::nullopt;
  answer(planned);
  // A device that breaks touches nothing any more, whatever is unmapped or freed from now on.
  if (runtime().is_broken()) runtime().changed.wait(lock_, [] { return are_all_idle(); });
  return planned;
}

std::optional<ncclResult_t> Call::refusal(ncclResult_t planned) {
  if (act_ == Fault::error) return planned;
  return std::nullopt;
}

cudaError_t answer(cudaError_t status) {
  Runtime& all = runtime();
  if (status != cudaSuccess) all.last = status;
  if (breaks(status) && !all.is_broken()) {
    all.broken = status;
    all.changed.notify_all();
  }
  return status;
}

void sleep_up_to(std::mt19937_64& engine, unsigned microseconds) {
  if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(engine() % microseconds));
}

void start(const Plan& plan) {
  discard_communicators();
  discard_streams();
  discard_memory();
  const std::lock_guard lock(runtime().mutex);
  apply(runtime(), plan);
}

std::map<std::string, int> calls() {
  const std::lock_guard lock(runtime().mutex);
  return runtime().calls;
}

bool has_fired() {
  const std::lock_guard lock(runtime().mutex);
  return runtime().has_fired;
}

std::string left() {
  const std::lock_guard lock(runtime().mutex);
  if (runtime().is_broken()) return {};
  std::string found = communicators_left() + streams_left() + memory_left();
  if (runtime().last != cudaSuccess) found += "an error that nobody took; ";
  return found;
}

}  // namespace emulated
