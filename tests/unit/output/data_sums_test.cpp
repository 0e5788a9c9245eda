#include "output/data_sums.hpp"

#include <string>

#include "catch.hpp"
#include "io/crc.hpp"

using namespace ckpt;

TEST_CASE("an array's sum is put together from parts in any order, and from what an earlier run wrote") {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes.push_back(static_cast<char>(i * 7));
  const std::string_view all = bytes;
  DataSums sums;
  const auto add = [&](Interval part) {
    sums.add(1, 2, part, std::as_bytes(std::span(all.substr(part.lo, part.size()))));
  };
  add({60, 100});
  add({0, 10});
  add({30, 60});
  std::uint64_t read = 0;
  const auto read_part = [&](Interval part) {
    read += part.size();
    return crc32c.of(all.substr(part.lo, part.size()));
  };
  CHECK(sums.of(1, 2, bytes.size(), read_part) == crc32c.of(bytes));
  CHECK(read == 20);
  CHECK(sums.of(1, 3, bytes.size(), read_part) == crc32c.of(bytes));  // all of it was there
  CHECK(read == 120);
  CHECK(sums.of(0, 0, 0, read_part) == 0);
}
