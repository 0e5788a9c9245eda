#include "catch.hpp"
#include "gpu/emulated/plan.hpp"
#include "mpi/exchange_contract.hpp"
#include "mpi/main.hpp"

using namespace ckpt;

TEST_CASE("the exchange over NCCL keeps the exchange's contract on an emulated GPU") {
  CHECK(why_no_nccl(test_world()) == "");
  contract::exchange(test_world(), nccl_exchange);
  CHECK(emulated::left() == "");
}
