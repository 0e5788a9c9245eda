#include "catch.hpp"
#include "mpi/communicator_contract.hpp"
#include "mpi/main.hpp"
#include "processes/mpi/mpi_communicator.hpp"

using namespace ckpt;

TEST_CASE("mpi keeps the communicator's contract") {
  contract::all(test_world(), 1000);
}

TEST_CASE("messages of a few MiB") {
  contract::gathers(test_world(), 1U << 20);
  contract::broadcasts(test_world(), 3U << 20);
  contract::exchanges(test_world(), 1U << 20);
  for (const std::size_t small : {8U, 12U, 25U}) contract::exchanges(test_world(), small);  // some with their sizes
}

TEST_CASE("a message above the largest that MPI can count goes in pieces") {
  const std::uint64_t largest = GENERATE(1U, 7U, 4096U, 4099U);  // in place of 2^30
  const std::size_t unit = largest < 100 ? 50 : 20'000;
  const auto processes = mpi_communicator(largest);
  contract::all(*processes, unit);
  contract::all(*processes, static_cast<std::size_t>(largest));  // exactly one, two and three pieces
}

TEST_CASE("processes on one node are numbered without a gap") {
  const auto& processes = test_world();
  const auto ranks = test_world().all_gather(std::to_string(processes.local_rank()));
  REQUIRE(processes.local_size() == processes.size());  // the tests run on one node
  for (std::size_t p = 0; p < ranks.size(); ++p) CHECK(ranks[p] == std::to_string(p));
}

TEST_CASE("a second communicator leaves MPI to the first") {
  { const auto second = mpi_world(); }
  test_world().sum(0);
  CHECK(test_world().sum(1) == static_cast<std::uint64_t>(test_world().size()));
}

TEST_CASE("a wrong number of messages is refused before anything is sent") {
  const auto size = static_cast<std::size_t>(test_world().size());
  CHECK_THROWS_AS(single_process()->all_to_all(std::vector<std::string>(size + 1)), Error);
}
