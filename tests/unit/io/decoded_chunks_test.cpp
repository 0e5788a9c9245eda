#include "io/decoded_chunks.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;

constexpr std::uint64_t chunk_bytes = 1000;
constexpr DecodedChunks::Size size{chunk_bytes, chunk_bytes + 500};

DecodedChunks::Key key(std::uint64_t chunk) {
  return {1, 2, 3, 4, chunk};
}

/// A budget for so many chunks, of which one is being decoded.
std::uint64_t room_for(std::uint64_t chunks) {
  return (chunks - 1) * DecodedChunks::room_of(size.bytes) + DecodedChunks::room_of(size.decoding);
}

/// Uses chunks whose every byte is their number; counts how often each is decoded.
struct Counted {
  explicit Counted(std::uint64_t budget) { chunks.set_budget(budget); }

  void use(std::uint64_t chunk) {
    chunks.with(
        key(chunk), size,
        [&](std::span<std::byte> out) {
          ++decoded;
          std::fill(out.begin(), out.end(), std::byte(chunk));
        },
        [&](std::span<const std::byte> bytes) {
          if (bytes.size() != chunk_bytes || bytes.front() != std::byte(chunk) || bytes.back() != std::byte(chunk))
            ++wrong;
        });
  }

  DecodedChunks chunks;
  std::atomic<int> decoded{0};
  std::atomic<int> wrong{0};
};

TEST_CASE("A chunk is decoded once while it fits; the one that has not been used for longest goes first") {
  Counted counted(room_for(3));
  for (const std::uint64_t chunk : {0, 1, 2, 0, 1, 2, 0}) counted.use(chunk);
  CHECK(counted.decoded == 3);
  counted.use(3);  // 1 goes
  for (const std::uint64_t chunk : {0, 2, 3}) counted.use(chunk);
  CHECK(counted.decoded == 4);
  CHECK(counted.chunks.decoding().again == 0);
  counted.use(1);
  CHECK(counted.decoded == 5);
  CHECK(counted.chunks.decoding().bytes == 5 * chunk_bytes);
  CHECK(counted.chunks.decoding().again == chunk_bytes);
  CHECK(counted.wrong == 0);
}

TEST_CASE("The memory that would have been enough is enough, and little less is not") {
  constexpr std::uint64_t together = 7;  // are used again and again
  const auto again = [](std::uint64_t budget) {
    Counted counted(budget);
    for (int round = 0; round < 4; ++round)
      for (std::uint64_t chunk = 0; chunk < together; ++chunk) counted.use(chunk);
    return counted.chunks.decoding();
  };
  const Decoding little = again(room_for(2));
  CHECK(little.again == 3 * together * chunk_bytes);
  CHECK(again(little.memory_once).again == 0);
  CHECK(again(little.memory_once - DecodedChunks::room_of(size.bytes)).again > 0);
}

TEST_CASE("A chunk that cannot fit is refused, and one that cannot be decoded leaves no trace") {
  Counted counted(room_for(1));
  const DecodedChunks::Size large{2 * chunk_bytes, 2 * chunk_bytes};
  CHECK_THROWS_WITH(counted.chunks.with(
                        key(0), large, [](auto) {}, [](auto) {}),
                    Contains("expected at most"));
  for (int i = 0; i < 3; ++i)
    CHECK_THROWS_WITH(counted.chunks.with(
                          key(0), size, [](auto) { throw Error(Kind::input, "damaged"); }, [](auto) {}),
                      "damaged");
  counted.use(0);
  CHECK(counted.decoded == 1);
  CHECK(counted.wrong == 0);
}

TEST_CASE("Threads that want more chunks than there is room for take turns") {
  const std::uint64_t room = GENERATE(1, 2, 5);
  Counted counted(room_for(room));
  std::atomic<int> in_use{0};
  std::atomic<int> most{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        const std::uint64_t chunk = (thread * 7 + i * (thread + 1)) % 11;
        counted.use(chunk);
        try {
          counted.chunks.with(
              key(100 + chunk), size,
              [&](std::span<std::byte>) {
                if (i % 3 == 0) throw Error(Kind::input, "damaged");
              },
              [&](std::span<const std::byte>) {
                const int now = ++in_use;
                for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
                }
                std::this_thread::yield();
                --in_use;
              });
        } catch (const Error&) {
          ++failed;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(counted.wrong == 0);
  CHECK(failed > 0);
  if (room == 1) CHECK(most <= 8);
  CHECK(counted.decoded >= 11);
}

TEST_CASE("A thread that need not wait passes over the chunk that another one decodes") {
  DecodedChunks chunks;
  int used = 0;
  const auto nothing = [](std::span<std::byte>) {};
  const auto use = [&](std::span<const std::byte>) { ++used; };
  chunks.with(
      key(0), size,
      [&](std::span<std::byte>) {
        std::thread other([&] {
          CHECK_FALSE(chunks.with_unless_busy(key(0), size, nothing, use));
          CHECK(chunks.with_unless_busy(key(1), size, nothing, use));
        });
        other.join();
        CHECK(used == 1);
      },
      use);
  CHECK(chunks.with_unless_busy(key(0), size, nothing, use));
  CHECK(used == 3);
}

TEST_CASE("All threads that want a chunk wait for the one that decodes it") {
  Counted counted(room_for(2));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) counted.use(static_cast<std::uint64_t>(i % 2));
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(counted.decoded == 2);
  CHECK(counted.wrong == 0);
}

}  // namespace
