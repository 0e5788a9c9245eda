#include "processes/mpi/mpi_library.hpp"

#include <map>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

std::vector<std::string> names_with(const std::map<std::string, std::string>& variables) {
  return mpi_library_names({[&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  }});
}

constexpr const char* open_mpi = "libmpi.so.40";
constexpr const char* mpich = "libmpi.so.12";

}  // namespace

TEST_CASE("the launcher's own family of MPI comes first") {
  CHECK(names_with({}).front() == open_mpi);
  CHECK(names_with({{"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "0"}}).front() == open_mpi);
  CHECK(names_with({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}).front() == open_mpi);
  CHECK(names_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).front() == mpich);
  CHECK(names_with({{"PALS_RANKID", "0"}}).front() == mpich);
  CHECK(names_with({{"PMI_SIZE", "2"}, {"OMPI_COMM_WORLD_SIZE", "2"}}).front() == open_mpi);
}

TEST_CASE("the other family is tried where the launcher's is not there") {
  CHECK(names_with({{"PMI_SIZE", "2"}}).back() == open_mpi);
  CHECK_THAT(names_with({}), Catch::Matchers::VectorContains(std::string(mpich)));
}

TEST_CASE("CKPT_MPI chooses a family or a library") {
  CHECK(names_with({{"CKPT_MPI", "openmpi"}, {"PMI_SIZE", "2"}}) == std::vector<std::string>{open_mpi});
  CHECK(names_with({{"CKPT_MPI", "mpich"}}).front() == mpich);
  CHECK(names_with({{"CKPT_MPI", "/opt/mpi/lib/libmpi.so"}}) == std::vector<std::string>{"/opt/mpi/lib/libmpi.so"});
  CHECK(names_with({{"CKPT_MPI", "libmpi_gnu_123.so.12"}}).size() == 1);
  CHECK(names_with({{"CKPT_MPI", ""}}).size() > 1);
  CHECK_THROWS_WITH(names_with({{"CKPT_MPI", "intel"}}), Contains("CKPT_MPI: 'intel', expected openmpi, mpich or"));
}
