#include "processes/mpi/launch.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>

#include "base/error.hpp"
#include "processes/mpi/parent_rank.hpp"

namespace ckpt {

namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread is started
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

/// Returns a variable that holds a count; 0 if there is none.
std::uint64_t count(const LaunchEnvironment& environment, const char* name) {
  const auto text = environment.variable(name).value_or("");
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc{} && end == text.data() + text.size() ? value : 0;
}

/// Slurm runs a batch script as "SHELL …/job00042/slurm_script"; the first process of a step is the program itself.
bool in_batch_script() {
  const auto pid = variable("SLURM_TASK_PID");
  if (!pid || pid->empty() || pid->find_first_not_of("0123456789") != std::string::npos) return false;
  std::ifstream file("/proc/" + *pid + "/cmdline", std::ios::binary);
  const std::string command{std::istreambuf_iterator<char>(file), {}};
  return command.find("/slurm_script") != std::string::npos;
}

}  // namespace

LaunchEnvironment launch_environment() {
  return {variable, in_batch_script()};
}

bool is_parallel(const LaunchEnvironment& environment) {
  const std::uint64_t step_tasks = environment.in_batch_script ? 0 : count(environment, "SLURM_STEP_NUM_TASKS");
  const auto job_space = environment.variable("PMIX_NAMESPACE").value_or("");
  const bool by_srun = job_space.rfind("slurm.", 0) == 0;  // with --mpi=pmix; mpirun replaces it with its own
  if (by_srun && step_tasks > 0) return step_tasks > 1;
  if (const auto size = count(environment, "OMPI_COMM_WORLD_SIZE")) return size > 1;
  if (const auto size = count(environment, "PMI_SIZE")) return size > 1;
  if (!by_srun && environment.variable("PMIX_RANK")) return true;  // a launcher that doesn't say how many it started
  if (step_tasks > 1 && environment.variable("PALS_RANKID")) return true;  // srun --mpi=cray_shasta
  if (step_tasks > 1) {
    const auto tasks = std::to_string(step_tasks);
    throw Error(Kind::usage, "srun",
                {tasks + " tasks started without MPI, each of which would do the whole job",
                 "",
                 "use srun --mpi=pmix -n " + tasks + " (with MPICH --mpi=pmi2), or one task: srun -n 1",
                 {Advice::What::go_alone, "one task alone starts it"}});
  }
  return false;
}

JobPlace place_in(const LaunchEnvironment& environment) {
  const auto first = [&](std::initializer_list<const char*> names) {
    for (const char* const name : names)
      if (auto value = environment.variable(name)) return *value;
    return std::string();
  };
  // A job of mpirun may have some of the hosts of the batch job, or of the step, in which it was started.
  JobPlace place{first({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID"}),
                 first({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}),
                 first({"OMPI_MCA_orte_node_regex", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})};
  place.hosts.resize(std::min(place.hosts.size(), place.hosts.find('@')));  // after it, who has which rank
  return place;
}

std::string JobPlace::words() const {
  return (rank.empty() ? "a process" : "rank " + rank) + (size.empty() ? "" : " of " + size);
}

JobPlace place_in_job() {
  return place_in(launch_environment());
}

bool launched_in_parallel() {
  const LaunchEnvironment environment = launch_environment();
  if (const auto above = parent_rank(environment); above && above->is_connected) return false;
  return is_parallel(environment);
}

JobAncestor job_ancestor() {
  const auto above = parent_rank(launch_environment());
  if (!above) return JobAncestor::nothing;
  return above->has_mpi ? JobAncestor::with_mpi : JobAncestor::without_mpi;
}

void prefer_shared_memory() {
  const auto all = variable("OMPI_COMM_WORLD_SIZE");
  const bool is_one_node =
      all ? all == variable("OMPI_COMM_WORLD_LOCAL_SIZE") : variable("SLURM_STEP_NUM_NODES") == "1";
  if (!is_one_node) return;
  if (variable("OMPI_MCA_pml")) return;  // the user's own choice may search the PCI bus
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("HWLOC_COMPONENTS", "-linuxpci,-pci", 0);
}

}  // namespace ckpt
