#include "processes/clock_ahead.hpp"

#include <chrono>
#include <cstdlib>

#include "catch.hpp"
#include "mpi/main.hpp"
#include "processes/gather_all.hpp"

using namespace ckpt;

TEST_CASE("clocks that disagree are measured") {
  constexpr std::int64_t hour = 3'600'000'000'000;
  Communicator& processes = test_world();
  const auto now = [&] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count() -
           hour * processes.rank();
  };
  const auto found = gather_all(clock_ahead(now, processes), processes);
  constexpr std::int64_t tolerance = 1'000'000'000;  // on a busy machine
  CHECK(found.front() == 0);
  for (std::size_t rank = 0; rank < found.size(); ++rank)
    CHECK(std::abs(found[rank] + hour * static_cast<std::int64_t>(rank)) < tolerance);
}
