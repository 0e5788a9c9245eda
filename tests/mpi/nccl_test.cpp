#include "catch.hpp"
#include "mpi/exchange_contract.hpp"
#include "mpi/main.hpp"

using namespace ckpt;

TEST_CASE("the exchange over NCCL keeps the exchange's contract where CUDA and NCCL keep theirs") {
  CHECK(why_no_nccl(test_world()) == "");
  contract::exchange(test_world(), nccl_exchange);
}
