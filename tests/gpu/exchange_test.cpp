#include "catch.hpp"
#include "mpi/exchange_contract.hpp"
#include "mpi/main.hpp"

using namespace ckpt;

TEST_CASE("GPUs that send to one another keep the exchange's contract") {
  contract::exchange(test_world(), nccl_exchange);
}
