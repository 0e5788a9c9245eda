#include "catch.hpp"
#include "mpi/communicator_contract.hpp"
#include "played_process.hpp"
#include "processes/host_of_error.hpp"

using namespace ckpt;

TEST_CASE("solo keeps the communicator's contract") {
  const auto processes = single_process();
  CHECK(processes->size() == 1);
  CHECK(processes->local_size() == 1);
  contract::all(*processes, 1000);
}

TEST_CASE("solo refuses what speaks of others") {
  const auto processes = single_process();
  CHECK_THROWS_AS(processes->broadcast("x", 1), Error);
  CHECK_THROWS_AS(processes->all_to_all({"a", "b"}), Error);
  processes->abandon(3);  // nobody to end
}

TEST_CASE("an error on one process alone does not count as agreed") {
  const auto processes = single_process();
  CHECK_THROWS(agree(*processes, [] { throw Error(Kind::io, "disk"); }));
  CHECK(processes->failed_together());
}

TEST_CASE("an error about a file names the host, if there are several") {
  const fixture::Played here(1, 2, "h2");
  const auto said = [](const Error& error, const Communicator& processes) {
    return std::string(naming_host(error, processes.rank(), processes).what());
  };
  const Error of_file = system_error("a/r.h5", "open", EACCES);
  CHECK(said(of_file, here) == "a/r.h5 (on h2): open: Permission denied");
  CHECK(said(Error(of_file).within("table"), here) == "table: a/r.h5 (on h2): open: Permission denied");
  CHECK(said(Error(Kind::terminated, "ended by SIGTERM"), here) == "ended by SIGTERM (on h2)");
  CHECK(said(Error(Kind::usage, "--memory", {"'x'", "", ""}), here) == "--memory: 'x'");
  CHECK(said(Error(Kind::peer, "process 0 (h1)", {"gone", "", ""}), here) == "process 0 (h1): gone");
  CHECK(said(of_file, fixture::Played(1, 2)) == "a/r.h5: open: Permission denied");
  CHECK(here.name_of(0) == "process 0 (h2)");
}
