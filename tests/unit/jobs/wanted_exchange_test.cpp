#include "catch.hpp"
#include "jobs/reshard_plan.hpp"

using namespace ckpt;

TEST_CASE("GPUs are never chosen beside tables, nor for a pipe") {
  ReshardJob job;
  const auto wanted = [&](bool has_tables, bool is_shared, int processes) {
    return wanted_exchange(job, has_tables, is_shared, processes);
  };
  CHECK(wanted(false, false, 4) == ExchangeKind::automatic);
  CHECK(wanted(true, true, 4) == ExchangeKind::automatic);  // direct
  CHECK(wanted(true, false, 4) == ExchangeKind::mpi);
  CHECK(wanted(true, false, 1) == ExchangeKind::automatic);
  job.output.is_pipe = true;
  CHECK(wanted(false, true, 4) == ExchangeKind::mpi);
  job.resources.exchange = ExchangeKind::nccl;  // who asks for it is refused by name, where there are tables
  CHECK(wanted(true, false, 4) == ExchangeKind::nccl);
}
