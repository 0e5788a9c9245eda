#include "catch.hpp"
#include "mpi/communicator_contract.hpp"

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
