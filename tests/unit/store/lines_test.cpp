#include "store/paddle/lines.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "refused.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

const RowFields& ada_fields() {
  static const RowFields fields({AccessorClass::sparse, 2, SgdRule::adagrad, SgdRule::adagrad});
  return fields;
}

/// As Paddle writes a row: a stream, with what it does by default.
std::string written_by_paddle(std::uint64_t key, const std::vector<float>& values) {
  std::ostringstream stream;
  stream << key;
  for (const float value : values) stream << ' ' << value;
  stream << '\n';
  return stream.str();
}

std::string line_of(std::uint64_t key, const std::vector<float>& values, int digits) {
  std::string text;
  append_line(text, key, values, digits);
  return text;
}

/// Floats of every exponent, and those that are easily got wrong.
std::vector<float> many_floats() {
  std::vector<float> floats{0.0F,  -0.0F,       1e6F,  999999.5F, 1234567, 1e5F,
                            1e-4F, 9.99995e-5F, 1e-5F, 0.1F,      1e-38F,  1e-40F};
  using Limits = std::numeric_limits<float>;
  for (const float value :
       {Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity(), Limits::quiet_NaN()})
    floats.insert(floats.end(), {value, -value});
  std::mt19937 random(7);
  for (int i = 0; i < 100000; ++i) floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return floats;
}

std::string refused_line(std::string_view line, const RowFields& fields = ada_fields()) {
  return fixture::refused([&] { check_line(line, fields); });
}

/// Feeds a text in pieces of so many bytes; gives the lines that arrive.
std::string read_in_pieces(const std::string& text, std::size_t bytes, ShardOf shard = {}) {
  ShardReader reader(ada_fields(), shard);
  std::string lines;
  for (std::size_t at = 0; at < text.size(); at += bytes)
    reader.feed(std::string_view(text).substr(at, bytes),
                [&](std::string_view line, const CheckedLine&) { lines += line; });
  reader.finish();
  return lines;
}

}  // namespace

TEST_CASE("rows are written as Paddle writes them, byte for byte") {
  for (const float value : many_floats()) {
    const auto expected = written_by_paddle(1, {value});
    if (line_of(1, {value}, paddle_digits) != expected) CHECK(line_of(1, {value}, paddle_digits) == expected);
  }
  CHECK(line_of(18446744073709551615ULL, {-1, 0.5F, 1234567}, paddle_digits) ==
        "18446744073709551615 -1 0.5 1.23457e+06\n");
}

TEST_CASE("nine digits keep every f32") {
  for (const float value : many_floats()) {
    const auto line = line_of(1, {-1, 0, 0, 0, 0, 0, value}, exact_digits);
    const auto without_newline = std::string_view(line).substr(0, line.size() - 1);
    check_line(without_newline, ada_fields());
    float read = 0;
    if (!read_numbers(without_newline, 6, {&read, 1})) FAIL_CHECK(line << " has no seventh number");
    const bool same = std::isnan(value) ? std::isnan(read) && std::signbit(read) == std::signbit(value)
                                        : std::bit_cast<std::uint32_t>(read) == std::bit_cast<std::uint32_t>(value);
    if (!same) FAIL_CHECK(line << " is read as " << read);
  }
}

TEST_CASE("a line is a row with its tail or without") {
  const std::string_view line = "9223372036854775808 -1 0 0.5 1 2 3.5 -4e-3";
  CHECK(check_line(line, ada_fields()).key == 1ULL << 63);
  CHECK(check_line(line, ada_fields()).dims == 0);
  std::vector<float> values(7);
  CHECK(read_numbers(line, 0, values));
  CHECK(values == std::vector<float>{-1, 0, 0.5F, 1, 2, 3.5F, -4e-3F});
  CHECK(check_line("7 1 2 3 4 5 6 7 8 9 10", ada_fields()).dims == 2);
  const RowFields dims({AccessorClass::ctr_dymf, 4, SgdRule::naive, SgdRule::adagrad});
  for (const auto good : {"7 1 2 3 4 5 6 0", "7 1 2 3 4 5 6 3", "7 1 2 3 4 5 6 3 0 1 2 3", "7 1 2 3 4 5 6 4 0 1 2 3 4"})
    CHECK(refused_line(good, dims).empty());
  CHECK(check_line("7 1 2 3 4 5 6 3 0 1 2 3", dims).dims == 3);
  CHECK_THAT(refused_line("7 1 2 3 4 5 6 3 0 1 2 3 4", dims), Contains("12 numbers") && Contains("7, or 11"));
  for (const auto wrong : {"5", "2.5", "-1", "nan"})
    CHECK_THAT(refused_line(std::string("7 1 2 3 4 5 6 ") + wrong, dims), Contains("mf_dim"));
  CHECK_THAT(refused_line("7 1 2", dims), Contains("2 numbers"));
}

TEST_CASE("numbers in other forms are numbers all the same") {
  for (const auto word : {"-inf", "nan", "-nan", "1.", ".5", "1e5", "1E+05", "3.40282e+38", "1.4013e-45", "-0", "0e0",
                          "123456789012", "0.000000000001", "99999999e+29", "0.00000001e-29"})
    CHECK(refused_line(std::string("7 1 2 3 4 5 ") + word + " 7").empty());
}

TEST_CASE("lines that are not Paddle's are refused") {
  CHECK_THAT(refused_line(""), Contains("blank line"));
  for (const auto key : {"", "-1", "+1", "0x1", "1.5", "18446744073709551616", "1\t2"})
    CHECK_THAT(refused_line(std::string(key) + " 1 2 3 4 5 6 7"), Contains("key: \""));
  for (const auto word : {"", "x", "+1", "0x1p3", "1e", "1e5x", "1e50", "-1e99", "1e-99", "99999999999999e29", "-", ".",
                          "1.5.2", "1,5", "1\t2", "5\r"})
    CHECK_THAT(refused_line(std::string("7 1 2 3 4 5 ") + word + " 7"), Contains("embed_w: \""));
  CHECK_THAT(refused_line("7 1 2 3 4 5 6 7 "), Contains("number 8: \"\""));
  CHECK_THAT(refused_line("7"),
             Contains("key 7: 0 numbers, expected 7, or 10 with embedx, as the layout's accessor says"));
  for (const auto line : {"7 1 2 3 4 5 6", "7 1 2 3 4 5 6 7 8", "7 1 2 3 4 5 6 7 8 9", "7 1 2 3 4 5 6 7 8 9 10 11"})
    CHECK_THAT(refused_line(line), Contains("numbers"));
}

TEST_CASE("a shard is read whatever the pieces it comes in") {
  const std::string text = "3 1 2 3 4 5 6 7\n13 1 2 3 4 5 6 7 8 9 10\n1003 -1 0 0 0 0 0 0\n";
  for (std::size_t bytes = 1; bytes <= text.size() + 1; ++bytes) CHECK(read_in_pieces(text, bytes, {3, 10}) == text);
  CHECK(read_in_pieces("", 1).empty());
}

TEST_CASE("what Paddle would lose in a shard is refused, with its line") {
  const auto message = [](const std::string& text, ShardOf shard = {}) {
    const auto whole = fixture::refused([&] { read_in_pieces(text, text.size(), shard); });
    CHECK(fixture::refused([&] { read_in_pieces(text, 1, shard); }) == whole);
    return whole;
  };
  const std::string row = "3 1 2 3 4 5 6 7\n";
  CHECK_THAT(message(row + "\n" + row), Contains("line 2: blank line"));
  CHECK_THAT(message(row + "13 1 2 3 4 5 6 7"), Contains("line 2: the file ends within it"));
  CHECK_THAT(message(row + "14 1 2 3 4 5 6 7\n", {3, 10}),
             Contains("line 2: key 14: lies in shard 3, expected shard 4 of 10"));
  CHECK_THAT(message(row + row + "3 1 2 3 4 x 6 7\n"), Contains("line 3: click: \"x\""));
}

TEST_CASE("parts of a line that has been checked") {
  CHECK(key_of("18446744073709551615 1") == 18446744073709551615U);
  CHECK_FALSE(key_of("x 1").has_value());
  std::vector<float> numbers(2);
  CHECK(read_numbers("7 1 2.5 -inf 1e-45", 1, numbers));
  CHECK(numbers == std::vector<float>{2.5F, -std::numeric_limits<float>::infinity()});
  CHECK(read_numbers("7 1 2.5", 0, numbers));
  for (const char* line : {"7", "7 1", "7 1 ", "7 1 x", "7 1  2", "7 1,2"}) CHECK_FALSE(read_numbers(line, 0, numbers));
  CHECK_FALSE(read_numbers("7 1 2", 1, numbers));
}
