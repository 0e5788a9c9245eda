#include <cstring>
#include <thread>

#include "catch.hpp"
#include "exchange/copy_table.hpp"
#include "exchange/nccl/nccl_device.hpp"
#include "random_copies.hpp"

using namespace ckpt;

namespace {

using Queue = Device::Queue;

void wait_for(Device& device, Queue queue) {
  const auto mark = device.mark(queue);
  while (!mark->is_reached()) std::this_thread::yield();
}

/// Performs the copies on the device and on the host: the blocks must be the same.
void check(Device& device, const std::vector<PlacedCopy>& copies, std::uint64_t block_bytes, std::uint64_t seed) {
  CopyTable table;
  for (const PlacedCopy& each : copies) table.add(each.copy, each.source, each.target);
  const std::uint64_t table_at = (block_bytes + 255) / 256 * 256;
  const std::uint64_t bytes = table_at + table.bytes();
  const auto host = device.host_memory(bytes);
  const auto memory = device.device_memory(bytes);
  std::mt19937_64 engine(seed);
  for (std::uint64_t i = 0; i < block_bytes; i += sizeof seed) {
    const std::uint64_t random = engine();
    std::memcpy(host->data() + i, &random, std::min(sizeof random, block_bytes - i));
  }
  const CopyTableView view = table.store(host->data() + table_at, memory->data() + table_at);
  std::vector<std::byte> expected(host->data(), host->data() + block_bytes);
  for (const PlacedCopy& each : copies) run(each.copy, expected.data() + each.source, expected.data() + each.target);

  device.upload(memory->data(), host->data(), bytes);
  device.copy(Queue::up, memory->data(), view);
  device.follow(Queue::down, Queue::up);
  device.download(host->data(), memory->data(), block_bytes);
  wait_for(device, Queue::down);
  CAPTURE(seed, copies.size());
  CHECK(std::equal(expected.begin(), expected.end(), host->data()));
}

}  // namespace

TEST_CASE("tables of random copies do on the device what the copies do on the host") {
  NcclDevice device(0, 0, 1, 4);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomCopies random(seed);
    const auto copies = random.take(seed % 10 == 0 ? 4'000'000 : 200'000, seed % 3 == 0 ? 300 : 1'000'000);
    check(device, copies, random.block_bytes(), seed);
  }
}

TEST_CASE("what is cleared is zero, and nothing beside it") {
  NcclDevice device(0, 0, 1, 4);
  const auto host = device.host_memory(1000);
  const auto memory = device.device_memory(1000);
  std::memset(host->data(), 7, 1000);
  device.upload(memory->data(), host->data(), 1000);
  device.follow(Queue::down, Queue::up);
  device.clear(Queue::down, memory->data() + 3, 500);
  device.download(host->data(), memory->data(), 1000);
  wait_for(device, Queue::down);
  for (std::size_t i = 0; i < 1000; ++i) CHECK(int(host->data()[i]) == (i < 3 || i >= 503 ? 7 : 0));
}

TEST_CASE("too much memory is an error that says what to lower") {
  NcclDevice device(0, 0, 1, 4);
  CHECK_THROWS_AS(device.device_memory(1ULL << 50), Error);
  CHECK_NOTHROW(device.device_memory(1ULL << 20));
}
