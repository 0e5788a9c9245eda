#include "store/paddle/line_scan.hpp"

#include <algorithm>
#include <random>
#include <string>

#include "catch.hpp"
#include "store/paddle/lines.hpp"

using namespace ckpt;

namespace {

std::vector<ScannedLine> scanned(LineScanner scan, std::string_view text) {
  std::vector<ScannedLine> lines;
  const std::size_t bytes = scan(text, lines);
  CHECK(bytes == (text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1));
  return lines;
}

/// By the fastest; all others must say the same.
std::vector<ScannedLine> scanned(std::string_view text) {
  const auto found = scanned(line_scanners().front(), text);
  for (const LineScanner scan : line_scanners()) {
    const auto other = scanned(scan, text);
    const bool is_same = std::equal(found.begin(), found.end(), other.begin(), other.end(), [](auto& a, auto& b) {
      return a.bytes == b.bytes && a.is_plain == b.is_plain && (!a.is_plain || a.numbers == b.numbers);
    });
    if (!is_same) FAIL_CHECK("another scanner says otherwise of " << text);
  }
  return found;
}

bool is_plain(const std::string& word) {
  const auto lines = scanned("7 " + word + "\n");
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().bytes == word.size() + 3);
  return lines.front().is_plain;
}

/// Lines as Paddle writes them, now and then with a byte that it does not write there.
std::string random_text(std::mt19937_64& random, std::vector<std::string>& lines) {
  static constexpr std::string_view bytes = "0123456789999 ..ee--++\nxn\x80";
  std::string text;
  while (text.size() < 1500) {
    std::string line;
    std::vector<float> values(6 + random() % 12);
    for (float& value : values)
      value = static_cast<float>(static_cast<double>(static_cast<std::int64_t>(random() >> 40)) - 8e6) *
              (random() % 2 ? 1.0F : 1e-9F);
    append_line(line, random() >> random() % 64, values, random() % 2 ? paddle_digits : exact_digits);
    if (random() % 3 == 0) line[random() % (line.size() - 1)] = bytes[random() % bytes.size()];
    if (random() % 5 == 0) line.insert(random() % line.size(), 1, bytes[random() % bytes.size()]);
    text += line;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return text;
}

/// As many numbers as the line has.
RowFields fields_of(std::uint64_t numbers) {
  return RowFields({AccessorClass::sparse, numbers - 6, SgdRule::naive, SgdRule::naive});
}

}  // namespace

TEST_CASE("what Paddle writes is plain, and what is plain is a line of Paddle's") {
  std::mt19937_64 random(7);
  std::size_t plain = 0;
  std::size_t good = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> lines;
    const std::string text = random_text(random, lines);
    const auto found = scanned(text);
    REQUIRE(found.size() == lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CHECK(found[i].bytes == lines[i].size());
      const std::string_view line = std::string_view(lines[i]).substr(0, lines[i].size() - 1);
      const auto numbers = static_cast<std::uint64_t>(std::count(line.begin(), line.end(), ' '));
      if (found[i].is_plain) CHECK(found[i].numbers == numbers);
      if (numbers < 7) continue;
      bool is_good = true;
      try {
        check_line(line, fields_of(numbers));
      } catch (const std::exception&) {
        is_good = false;
      }
      // Only a key of 2^64 or more is plain, and no key.
      if (found[i].is_plain && !is_good && key_of(line)) FAIL_CHECK(line << " is none of Paddle's");
      plain += found[i].is_plain ? 1 : 0;
      good += is_good ? 1 : 0;
    }
  }
  CHECK(plain > good / 3);  // with nine digits some numbers are longer
}

TEST_CASE("numbers that are plain, and those that others have to look at") {
  for (const auto* word : {"0", "-1", "0.5", "-0.000123456", "123456789.123456789", "1e-05", "-1.23457e+29"})
    CHECK(is_plain(word));
  for (const auto* word :
       {"",      "-",          ".5",           "1.",   "1..2", "1.2.3", "1.2e-05.3", "1e5", "1e+5",      "1e+050",
        "1e-30", "1e+39",      "+1",           "1+2",  "1-2",  "--1",   "1e",        "1e-", "1e-05e-05", "nan",
        "-inf",  "1234567890", "0.1234567890", "1\t2", "1 ",   " 1",    "1\r",       "\x80"})
    CHECK_FALSE(is_plain(word));
}

TEST_CASE("keys that are plain") {
  const auto is_plain_key = [](const std::string& key) { return scanned(key + " 1\n").front().is_plain; };
  for (const auto* key : {"0", "12345678901234567890", "00000000000000000000000000000000000001"})
    CHECK(is_plain_key(key));
  for (const auto* key : {"", "-1", "1.5", "1e+05", "x"}) CHECK_FALSE(is_plain_key(key));
  CHECK(scanned("").empty());
  CHECK(scanned("7 1").empty());
  CHECK_FALSE(scanned("\n").front().is_plain);
  CHECK_FALSE(scanned("7 1\n\n7 1\n")[1].is_plain);
}

TEST_CASE("numbers over the border of two blocks are as all others") {
  for (std::size_t shift = 0; shift < 130; ++shift) {
    const std::string before = std::string(shift, '1') + " 2\n";
    for (const auto* word : {"1.123456789", "123456789", "-1.5e-05"})
      CHECK(scanned(before + "7 " + word + " 8\n").back().is_plain);
    for (const auto* word : {"1.1234567890", "1234567890", "1.5.5", "1.5e-05.5", "1e+30", "1e+2x", "1.23456.1"})
      CHECK_FALSE(scanned(before + "7 " + word + " 8\n").back().is_plain);
  }
}

TEST_CASE("keys of a shard are read whatever their length") {
  const RowFields fields({AccessorClass::sparse, 2, SgdRule::naive, SgdRule::naive});
  const auto read = [&](const std::string& key) {
    std::uint64_t found = 0;
    ShardReader reader(fields, {});
    reader.feed(key + " 1 2 3 4 5 6\n", [&](std::string_view, const CheckedLine& row) { found = row.key; });
    return found;
  };
  std::uint64_t key = 0;
  for (std::uint64_t digits = 1; digits <= 20; ++digits) {
    key = key * 10 + digits % 10;
    CHECK(read(std::to_string(key)) == key);
    CHECK(read("000000000" + std::to_string(key)) == key);
  }
  CHECK(read("18446744073709551615") == ~std::uint64_t{0});
  for (const auto* wrong : {"18446744073709551616", "99999999999999999999", "184467440737095516150"})
    CHECK_THROWS_WITH(read(wrong), Catch::Matchers::Contains("key: \""));
}
