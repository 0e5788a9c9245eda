#include "processes/mpi/launch.hpp"

#include <map>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

using Variables = std::map<std::string, std::string>;

LaunchEnvironment with(Variables variables, bool in_batch_script = false) {
  return {[variables = std::move(variables)](const char* name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
          },
          in_batch_script};
}

// What the launchers set, as seen under Slurm 22.05 and Open MPI 4.1.
const Variables batch{{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SLURM_NPROCS", "4"}, {"SLURM_PROCID", "0"}};

Variables operator+(Variables a, const Variables& b) {
  for (const auto& [name, value] : b) a[name] = value;
  return a;
}

Variables step(const std::string& tasks) {
  return batch + Variables{{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", tasks}};
}

const Variables srun_pmix{{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}};

Variables mpirun(const std::string& size) {
  return {{"OMPI_COMM_WORLD_SIZE", size}, {"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "1989935105"}};
}

}  // namespace

TEST_CASE("a process that no launcher started is alone") {
  CHECK_FALSE(is_parallel(with({})));
  CHECK_FALSE(is_parallel(with({{"OMPI_COMM_WORLD_SIZE", "many"}})));
}

TEST_CASE("mpirun's processes are parallel, its single process needs no MPI") {
  CHECK(is_parallel(with(mpirun("2"))));
  CHECK_FALSE(is_parallel(with(mpirun("1"))));
  CHECK(is_parallel(with({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}})));
  CHECK_FALSE(is_parallel(with({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}})));
  CHECK(is_parallel(with({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "prterun-node-12@1"}})));
}

TEST_CASE("a program run by the batch script itself is alone, whatever the job's number of tasks") {
  CHECK_FALSE(is_parallel(with(batch, true)));
  CHECK_FALSE(is_parallel(with(batch)));  // an interactive allocation
  CHECK(is_parallel(with(batch + mpirun("4"), true)));
}

TEST_CASE("srun with MPI is parallel, with one task it is alone") {
  CHECK(is_parallel(with(step("4") + srun_pmix)));
  CHECK_FALSE(is_parallel(with(step("1") + srun_pmix)));
  CHECK(is_parallel(with(step("4") + Variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}})));  // --mpi=pmi2
  CHECK(is_parallel(with(step("4") + Variables{{"PALS_RANKID", "0"}})));                  // --mpi=cray_shasta
  CHECK_FALSE(is_parallel(with(step("1") + Variables{{"PALS_RANKID", "0"}})));
  CHECK_FALSE(is_parallel(with(step("1"))));
}

TEST_CASE("srun without MPI is refused, with the option to use") {
  CHECK_THROWS_WITH(is_parallel(with(step("4"))), Contains("4 tasks") && Contains("srun --mpi=pmix -n 4"));
  try {
    is_parallel(with(step("2")));
  } catch (const Error& error) {
    CHECK(error.kind() == Kind::usage);
  }
}

TEST_CASE("variables inherited from the launcher that submitted the job don't count") {
  CHECK_FALSE(is_parallel(with(step("4"), true)));
  CHECK_FALSE(is_parallel(with(step("4") + srun_pmix, true)));
  CHECK(is_parallel(with(mpirun("1") + step("4") + srun_pmix)));  // srun from within what mpirun submitted
  CHECK(is_parallel(with(step("2") + srun_pmix + mpirun("4"))));  // mpirun's daemon on another node is itself a step
}

TEST_CASE("a process's place in its job, as its launcher tells it") {
  CHECK(place_in(with({})).words() == "a process");
  CHECK(place_in(with(mpirun("2"))).words() == "rank 0 of 2");
  CHECK(place_in(with(mpirun("2"))).hosts.empty());
  CHECK(place_in(with({{"OMPI_MCA_orte_node_regex", "login,h[1:1-2]@0(3)"}})).hosts == "login,h[1:1-2]");
  CHECK(place_in(with({{"OMPI_MCA_orte_node_regex", "n[1:2-3]"}, {"SLURM_JOB_NODELIST", "n[1-9]"}})).hosts ==
        "n[1:2-3]");
  CHECK(place_in(with(step("4") + Variables{{"SLURM_STEP_NODELIST", "n[1-2]"}, {"SLURM_JOB_NODELIST", "n[1-3]"}}))
            .hosts == "n[1-2]");
}
