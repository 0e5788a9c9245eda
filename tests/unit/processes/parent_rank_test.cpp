#include "processes/mpi/parent_rank.hpp"

#include <fstream>
#include <map>

#include "catch.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
namespace fs = std::filesystem;

namespace {

using Variables = std::map<std::string, std::string>;

const Variables rank_0{{"PMIX_NAMESPACE", "1989935105"},
                       {"PMIX_RANK", "0"},
                       {"OMPI_COMM_WORLD_RANK", "0"},
                       {"PMIX_SERVER_URI4", "1989935104.0;tcp4://127.0.0.1:38945"}};

LaunchEnvironment with(Variables variables) {
  return {[variables = std::move(variables)](const char* name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
          },
          false};
}

/// What /proc tells of processes, played.
class Proc {
 public:
  fs::path path() const { return scratch_ / ""; }

  void process(const std::string& name, int parent, const Variables& variables = {}) {
    fs::create_directories(path() / name / "fd");
    write(name + "/status", "Name:\tsh\nPPid:\t" + std::to_string(parent) + "\n");
    std::string environ = "HOME=/root";
    environ += '\0';
    for (const auto& [key, value] : variables) environ.append(key).append("=").append(value) += '\0';
    write(name + "/environ", environ);
    write(name + "/maps", "");
  }
  void opens(const std::string& name, const std::string& socket) {
    fs::create_symlink("socket:[" + socket + "]", path() / name / "fd" / "16");
  }
  void connection(const std::string& table, const std::string& remote, const std::string& state,
                  const std::string& socket) {
    fs::create_directories(path() / "self/net");
    write("self/net/" + table, "  sl  local_address rem_address   st …\n   7: 0100007F:EC14 " + remote + " " + state +
                                   " 00000000:00000000 00:00000000 00000000     0        0 " + socket + " 3 0 20 4\n");
  }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(path() / file, std::ios::binary) << text;
  }

 private:
  fixture::TemporaryDirectory scratch_;
};

}  // namespace

TEST_CASE("what a rank that is connected starts finds its place taken, through a shell too") {
  Proc proc;
  proc.process("self", 30, rank_0);
  proc.process("30", 20, rank_0);
  proc.process("20", 10, rank_0);
  proc.process("10", 1);
  proc.opens("20", "75264");
  proc.connection("tcp", "0100007F:9821", "01", "75264");
  const auto above = parent_rank(with(rank_0), proc.path());
  REQUIRE(above);
  CHECK(above->process == 20);
  CHECK(above->is_connected);
}

TEST_CASE("IPv6 is no other case") {
  Proc proc;
  Variables variables = rank_0;
  variables["PMIX_SERVER_URI4"] = "1989935104.0;tcp6://[::1]:38945";
  proc.process("self", 20, variables);
  proc.process("20", 1, variables);
  proc.opens("20", "75264");
  proc.connection("tcp6", "00000000000000000000000001000000:9821", "01", "75264");
  CHECK(parent_rank(with(variables), proc.path())->is_connected);
}

TEST_CASE("a wrapper script leaves its place: it is not connected") {
  Proc proc;
  proc.process("self", 20, rank_0);
  proc.process("20", 10, rank_0);
  proc.process("10", 1);  // the launcher's daemon
  for (const char* const remote : {"0100007F:9822", "0200007F:9821"}) {
    proc.connection("tcp", remote, "01", "75264");
    CHECK_FALSE(parent_rank(with(rank_0), proc.path())->is_connected);
  }
  proc.opens("20", "75264");
  proc.connection("tcp", "0100007F:9821", "06", "75264");  // closed
  CHECK_FALSE(parent_rank(with(rank_0), proc.path())->is_connected);
}

TEST_CASE("a rank that has started mpirun is not above that one's processes, nor is one of another rank") {
  for (const auto& [name, value] : Variables{{"PMIX_NAMESPACE", "7"}, {"PMIX_RANK", "1"}}) {
    Proc proc;
    Variables outer = rank_0;
    outer[name] = value;
    proc.process("self", 20, rank_0);
    proc.process("20", 1, outer);
    proc.opens("20", "75264");
    proc.connection("tcp", "0100007F:9821", "01", "75264");
    CHECK_FALSE(parent_rank(with(rank_0), proc.path()));
  }
}

TEST_CASE("MPI that is loaded above is told of") {
  const std::string library = GENERATE("libmpi.so.40.30.4", "libmpich.so.12.2.2", "libmpi_cray.so.12");
  Proc proc;
  proc.process("self", 30, rank_0);
  proc.process("30", 20, rank_0);
  proc.process("20", 1, rank_0);
  proc.write("20/maps", "7f00-7f01 r-xp 00000000 08:01 3 /usr/lib/x86_64-linux-gnu/" + library + "\n");
  const auto above = parent_rank(with(rank_0), proc.path());
  REQUIRE(above);
  CHECK(above->process == 20);
  CHECK(above->has_mpi);
  CHECK_FALSE(above->is_connected);
}

TEST_CASE("without a launcher nothing is above") {
  Proc proc;
  proc.process("self", 20);
  proc.process("20", 1);
  CHECK_FALSE(parent_rank(with({}), proc.path()));
  CHECK_FALSE(parent_rank(with({{"SLURM_JOB_ID", "7"}}), proc.path()));
}
