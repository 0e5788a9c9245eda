#include "jobs/types/memory_shares.hpp"

#include "catch.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t mebibyte = 1ULL << 20;

std::string refusal(std::uint64_t memory, const LargestChunk& largest) {
  try {
    share_memory(memory, 2, largest);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("where nothing is decoded, a share is mapped and the rest is staging") {
  const MemoryShares shares = share_memory(99, 3, {});
  CHECK(shares.windows == 33);
  CHECK(shares.chunks == 0);
  CHECK(shares.rest == 66);
  CHECK(shares.order() == ChunkOrder::in_step);
}

TEST_CASE("values that are in memory anyway are taken off first, up to a half") {
  LargestChunk largest;
  largest.value_bytes = 10;
  CHECK(share_memory(99, 3, largest).rest + share_memory(99, 3, largest).windows == 79);
  largest.value_bytes = 50;
  CHECK(share_memory(100, 2, largest).rest + share_memory(100, 2, largest).windows == 50);
}

TEST_CASE("decoded chunks have a share that grows with the largest, to an end") {
  const std::uint64_t memory = GENERATE(16, 512, 4096) * mebibyte;
  for (const std::uint64_t eighths : {1, 2, 3, 4}) {
    const LargestChunk largest{"a.h5: /w", 1, memory / 8 * eighths};
    const MemoryShares shares = share_memory(memory, 2, largest);
    CHECK(shares.chunks >= largest.decoding_bytes);
    CHECK(shares.windows + shares.chunks + shares.rest == memory);
    CHECK(shares.rest >= memory / 4);
    CHECK(shares.order() == ChunkOrder::by_tensor);
  }
  CHECK_THAT(refusal(memory, {"a.h5: /w", mebibyte, memory}), Contains("a.h5: /w: is stored in chunks of 1.0 MiB"));
}

TEST_CASE("chunks beside one another have a share that holds them, or a warning says how much would") {
  LargestChunk largest{"a: /w", mebibyte, 2 * mebibyte};
  largest.beside = "a: /w";
  largest.together_bytes = 40 * mebibyte;
  const MemoryShares enough = share_memory(64 * mebibyte, 2, largest);
  CHECK(enough.chunks == largest.together_bytes);
  CHECK(enough.shortage.empty());
  const MemoryShares scarce = share_memory(63 * mebibyte, 2, largest);
  CHECK(scarce.chunks < largest.together_bytes);
  CHECK_THAT(scarce.shortage, Contains("a: /w") && Contains("--memory 64MiB"));
}

TEST_CASE("the memory that the message asks for is enough, and a MiB less is not") {
  const std::uint64_t decoding = GENERATE(10 * mebibyte, 123456789, 3ULL << 30);
  const LargestChunk largest{"a.h5: /w", decoding / 2, decoding, GENERATE(0, 3 * mebibyte)};
  std::string told;
  try {
    share_memory(mebibyte, 2, largest);
  } catch (const Error& error) {
    CHECK(error.text().advice.what == Advice::What::more_memory);
    told = error.text().advice.detail;
  }
  REQUIRE(told.ends_with("MiB"));
  const std::uint64_t needed = std::stoull(told) * mebibyte;
  CHECK(refusal(needed, largest).empty());
  CHECK_FALSE(refusal(needed - mebibyte, largest).empty());
}
