#include "catch.hpp"
#include "exchange/device_exchange.hpp"
#include "mpi/exchange_contract.hpp"
#include "mpi/main.hpp"
#include "mpi/simulated_device.hpp"

using namespace ckpt;

TEST_CASE("readers that send to writers keep the exchange's contract") {
  contract::exchange(test_world(), message_exchange);
}

TEST_CASE("processes that read what they write keep it, each for itself") {
  contract::exchange(test_world(), direct_exchange);
}

TEST_CASE("devices that send to one another keep it, whatever the order in which they do what may be done in any") {
  contract::exchange(test_world(), [](Communicator& processes, const Staging& staging) {
    static std::uint64_t seed = 0;
    return device_exchange(processes, staging, "simulated",
                           [&processes] { return std::make_unique<SimulatedDevice>(processes, ++seed); });
  });
}
