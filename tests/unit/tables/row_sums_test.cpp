#include "tables/keyed/row_sums.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "catch.hpp"

using namespace ckpt;

namespace {

constexpr std::size_t row_bytes = 29;  // not whole words

struct Row {
  std::uint64_t key = 0;
  std::array<std::byte, row_bytes> bytes{};
};

std::vector<Row> random_rows() {
  std::mt19937_64 random(3);
  std::vector<Row> rows(50);
  for (Row& row : rows) {
    row.key = random();
    for (std::byte& byte : row.bytes) byte = static_cast<std::byte>(random());
  }
  return rows;
}

PartialSum sum_rows(const std::vector<Row>& rows) {
  const RowSums sums("embedding/value f32 [7]", row_bytes);
  PartialSum sum;
  for (const Row& row : rows) sums.add(row.key, row.bytes.data(), sum);
  return sum;
}

/// What a sum would be that is linear in key and row: the negative control.
std::uint64_t linear_sum(const std::vector<Row>& rows) {
  std::uint64_t sum = 0;
  for (const Row& row : rows) {
    sum += row.key * 31;
    for (const std::byte byte : row.bytes) sum += static_cast<std::uint64_t>(byte);
  }
  return sum;
}

}  // namespace

TEST_CASE("the sum of rows does not depend on their order") {
  std::vector<Row> rows = random_rows();
  const PartialSum sum = sum_rows(rows);
  CHECK(sum.bytes == rows.size() * row_bytes);
  std::shuffle(rows.begin(), rows.end(), std::mt19937(1));
  CHECK(sum_rows(rows) == sum);
}

TEST_CASE("rows are summed together, or each to its group, as one by one") {
  const std::vector<Row> rows = random_rows();
  const RowSums sums("embedding/value f32 [7]", row_bytes);
  std::vector<std::byte> keys(rows.size() * 8 + 1);  // not aligned
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> groups;
  std::vector<PartialSum> expected(3);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(keys.data() + 1 + i * 8, &rows[i].key, 8);
    bytes.insert(bytes.end(), rows[i].bytes.begin(), rows[i].bytes.end());
    groups.push_back(i % 3);
    sums.add(rows[i].key, rows[i].bytes.data(), expected[i % 3]);
  }
  PartialSum all;
  sums.add_all(keys.data() + 1, bytes.data(), rows.size(), all);
  CHECK(all == sum_rows(rows));
  std::vector<PartialSum> found(3);
  sums.add_each(keys.data() + 1, bytes.data(), groups, found);
  CHECK(found == expected);
}

TEST_CASE("keys without rows are summed together, or each to its group, as one by one") {
  const RowSums sums("embedding/keys", 0);
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> groups;
  std::vector<PartialSum> expected(2);
  for (const Row& row : random_rows()) {
    groups.push_back(keys.size() % 2);
    keys.push_back(row.key);
    sums.add(row.key, nullptr, expected[groups.back()]);
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(keys.data());
  std::vector<PartialSum> found(2);
  sums.add_each(bytes, nullptr, groups, found);
  CHECK(found == expected);
  PartialSum all;
  sums.add_all(bytes, nullptr, keys.size(), all);
  found[0] += found[1];
  CHECK(all == found[0]);
}

TEST_CASE("the sum of rows finds rows under each other's keys, which a linear one does not") {
  const std::vector<Row> rows = random_rows();
  std::vector<Row> exchanged = rows;
  std::swap(exchanged[3].bytes, exchanged[17].bytes);
  CHECK(linear_sum(exchanged) == linear_sum(rows));
  CHECK_FALSE(sum_rows(exchanged).low == sum_rows(rows).low);
  CHECK_FALSE(sum_rows(exchanged).high == sum_rows(rows).high);
}

TEST_CASE("the sum of rows finds one that is lost and one that is doubled, and any changed byte") {
  const std::vector<Row> rows = random_rows();
  std::vector<Row> changed = rows;
  changed[5] = changed[6];
  CHECK_FALSE(sum_rows(changed).low == sum_rows(rows).low);
  for (std::size_t byte = 0; byte < row_bytes; ++byte) {
    changed = rows;
    changed[9].bytes[byte] ^= std::byte{1};
    CHECK_FALSE(sum_rows(changed).low == sum_rows(rows).low);
    CHECK_FALSE(sum_rows(changed).high == sum_rows(rows).high);
  }
}
