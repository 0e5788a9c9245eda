#include "tables/keyed/row_filter.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "refused.hpp"
#include "tables/keyed/table_share.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// A table of one dataset [n, 3] of this type, its columns a, b and c.
StoredTable table_of(const char* dtype) {
  StoredTable table;
  table.name = "t";
  table.rows = {0};
  const RowSums sums("", 0);
  table.parts.push_back({"t/keys", 0, number_type("u64").value(), 1, sums});
  table.parts.push_back({"t/value", 1, number_type(dtype).value(), 3, sums});
  table.fields = {{"a", {1, 0}}, {"b", {1, 1}}, {"c", {1, 2}}};
  return table;
}

struct Outcome {
  std::vector<bool> kept;
  std::uint64_t dropped_with_nan = 0;
};

template <class Number>
Outcome run(const std::string& text, const char* dtype, const std::vector<std::array<Number, 3>>& rows) {
  const RowFilter filter(RowCondition(text), table_of(dtype));
  std::vector<std::uint64_t> bits((rows.size() + 63) / 64, ~std::uint64_t{0});
  Outcome outcome;
  outcome.dropped_with_nan = filter.apply({reinterpret_cast<const std::byte*>(rows.data())}, rows.size(), bits);
  for (std::size_t row = 0; row < rows.size(); ++row) outcome.kept.push_back((bits[row / 64] >> (row % 64) & 1) != 0);
  return outcome;
}

bool keeps(const std::string& text, const std::array<float, 3>& row) {
  return run<float>(text, "f32", {row}).kept[0];
}

}  // namespace

TEST_CASE("f32 fields are reckoned in f32, in the order written") {
  const float below = std::nextafter(1.5F, 0.0F);
  CHECK(keeps("a >= 1.5", {1.5F, 0, 0}));
  CHECK_FALSE(keeps("a >= 1.5", {below, 0, 0}));
  CHECK(keeps("a == 0.1", {0.1F, 0, 0}));  // 0.1 as f32: in f64 they differ
  const float big = 16777216;              // 2^24: adding 1 is lost in f32
  CHECK(keeps("a + 1 == a", {big, 0, 0}));
  CHECK_FALSE(keeps("a + (1 + 1) == a", {big, 0, 0}));
  CHECK(keeps("a + 1 + 1 == a", {big, 0, 0}));
  // (1 + e)² = 1 + 2e + e²: a fused multiplication and addition would keep e².
  const float one = std::nextafter(1.0F, 2.0F);
  CHECK(keeps("a * b - c == 0", {one, one, one * one}));
}

TEST_CASE("f64 fields are reckoned in f64, and so is what they are put together with") {
  const double below = std::nextafter(1.5, 0.0);
  const auto found = run<double>("a >= 1.5 and a + 0.1 >= b", "f64", {{1.5, 1.6, 0}, {below, 0, 0}, {1.5, 1.7, 0}});
  CHECK(found.kept == std::vector<bool>{true, false, false});
}

TEST_CASE("integers are numbers, exact up to 2^53") {
  using Rows = std::vector<std::array<std::int64_t, 3>>;
  const std::int64_t large = (std::int64_t{1} << 53) - 1;
  CHECK(run<std::int64_t>("a - 1 < b", "i64", Rows{{large, large, 0}, {-5, -6, 0}}).kept ==
        std::vector<bool>{true, false});
  CHECK(run<std::uint8_t>("a / 2 == 1.5", "u8", {{3, 0, 0}, {255, 0, 0}}).kept == std::vector<bool>{true, false});
  CHECK(run<std::int16_t>("a < 0", "i16", {{-3, 0, 0}, {0, 0, 0}}).kept == std::vector<bool>{true, false});
}

TEST_CASE("a number from 2^53 on is no match for integers of 64 bits") {
  for (const std::string text : {"a == 9007199254740993", "9007199254740992 <= a", "-a > -1e16", "a - 2e53 < b"})
    CHECK_THAT(fixture::refused([&] { RowFilter(RowCondition(text), table_of("u64")); }, Kind::usage),
               Contains("a number from 2^53 on, beside a field of whole numbers of 64 bits"));
  CHECK(run<std::uint64_t>("a == 9007199254740991", "u64", {{(1ULL << 53) - 1, 0, 0}, {0, 0, 0}}).kept ==
        std::vector<bool>{true, false});
  CHECK(run<double>("a == 9007199254740992", "f64", {{9007199254740992.0, 0, 0}}).kept == std::vector<bool>{true});
  CHECK(run<std::uint32_t>("a < 1e17", "u32", {{7, 0, 0}}).kept == std::vector<bool>{true});
}

TEST_CASE("no comparison with NaN holds, nor its opposite, and the rows that go for it are counted") {
  using Rows = std::vector<std::array<float, 3>>;
  const Rows rows{{not_a_number, 1, 0}, {1, 1, 0}, {2, not_a_number, 0}};
  for (const char* text : {"a == a", "not a != a", "a >= 0 or a < 0", "not (a < 0 and a > 0)"}) {
    const auto found = run<float>(text, "f32", rows);
    INFO(text);
    CHECK(found.kept == std::vector<bool>{false, true, true});
    CHECK(found.dropped_with_nan == 1);
  }
  CHECK(run<float>("a != 1", "f32", rows).kept == std::vector<bool>{false, false, true});
  const auto other = run<float>("a > 0 or b == 1", "f32", rows);  // the other comparison decides
  CHECK(other.kept == std::vector<bool>{true, true, true});
  CHECK(other.dropped_with_nan == 0);
  CHECK(run<float>("c / c == 0", "f32", rows).dropped_with_nan == 3);
}

TEST_CASE("any number of rows: blocks and words of bits that are not full") {
  for (const std::size_t count : {1U, 63U, 64U, 65U, 1023U, 1024U, 1025U, 3000U}) {
    std::vector<std::array<float, 3>> rows(count);
    std::vector<bool> expected;
    for (std::size_t row = 0; row < count; ++row) {
      rows[row] = {static_cast<float>(row), static_cast<float>(row % 7), 0};
      expected.push_back(row % 7 < 3 && row != 64);
    }
    CHECK(run<float>("b < 3 and not a == 64", "f32", rows).kept == expected);
  }
}

TEST_CASE("rows are kept in their order") {
  std::vector<std::uint32_t> rows(130);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(i);
  const std::vector<std::uint64_t> kept{0x8000000000000001, 0, 2};
  REQUIRE(keep_rows(kept, std::as_writable_bytes(std::span(rows)), 4) == 3);
  CHECK(std::vector<std::uint32_t>(rows.begin(), rows.begin() + 3) == std::vector<std::uint32_t>{0, 63, 129});
}

TEST_CASE("a field that there is not, or that is no number, is refused with those that there are") {
  CHECK_THROWS_WITH(RowFilter(RowCondition("bb > 1"), table_of("f32")),
                    Contains("table 't' has no field \"bb\", expected one of a, b, c; did you mean b?"));
  StoredTable table = table_of("f32");
  table.parts[1].dtype = text_type();
  CHECK_THROWS_WITH(RowFilter(RowCondition("b > 1"), table), Contains("expected numbers"));
  table = table_of("f32");
  table.parts[1].row_elements = 2;
  CHECK_THROWS_WITH(RowFilter(RowCondition("c > 1"), table), Contains("at least 3 in a row"));
}
