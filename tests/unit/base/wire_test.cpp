#include "base/wire.hpp"

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "base/boxed_optional.hpp"
#include "base/interned.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

enum class Colour : std::uint8_t { red, blue };
constexpr Colour last_of(Colour) {
  return Colour::blue;
}

struct Range {
  int lo = 0;
  int hi = 0;

  bool is_consistent() const { return lo <= hi; }
  friend bool operator==(const Range&, const Range&) = default;
};

struct Everything {
  bool flag = false;
  Colour colour = Colour::red;
  double real = 0;
  std::string text;
  InternedText name;
  std::optional<std::string> present;
  BoxedOptional<Range> absent;
  std::vector<std::uint32_t> numbers;
  std::vector<bool> flags;
  std::vector<std::vector<std::string>> texts;
  std::map<std::string, std::array<int, 3>> map;
  std::pair<Range, std::tuple<char, std::int64_t>> pair;

  friend bool operator==(const Everything&, const Everything&) = default;
};

const Everything sample{true,
                        Colour::blue,
                        -0.5,
                        std::string("a\0b", 3),
                        "name",
                        "text",
                        std::nullopt,
                        {1, 2, 3},
                        {true, false},
                        {{"x"}, {}, {"", "yy"}},
                        {{"k", {1, 2, 3}}, {"l", {}}},
                        {{-1, 1}, {'c', -7}}};

std::string why_not(const std::string& bytes) {
  try {
    wire::unpacked<Everything>(bytes, "it");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("all forms of values arrive as they were sent") {
  CHECK(wire::unpacked<Everything>(wire::packed(sample)) == sample);
  const auto shared = wire::unpacked<std::shared_ptr<const Everything>>(wire::packed(sample));
  CHECK(*shared == sample);
}

TEST_CASE("several values are packed one after another, and taken as a tuple or one by one") {
  const std::string bytes = wire::packed(7, std::string("text"), sample);
  CHECK(wire::unpacked<std::tuple<int, std::string, Everything>>(bytes) == std::tuple(7, "text", sample));
  int number = 0;
  std::string_view view;
  wire::Reader in(bytes, "it");
  in.take_into(std::tie(number, view));
  CHECK(number == 7);
  CHECK(view == "text");
  CHECK(in.take<Everything>() == sample);
  in.finish();
}

TEST_CASE("bytes that are too few, too many or not a value are refused") {
  const std::string good = wire::packed(sample);
  for (std::size_t size = 0; size < good.size(); ++size) CHECK(why_not(good.substr(0, size)) == "it is damaged");
  CHECK(why_not(good + "x") == "it is damaged");
  for (const std::size_t at : {0, 1}) {  // the flag, the colour
    std::string bad = good;
    bad[at] = 2;
    CHECK(why_not(bad) == "it is damaged");
  }
  CHECK_THROWS_WITH(wire::unpacked<Range>(wire::packed(2, 1), "a range"), "a range is damaged");
}

TEST_CASE("a false count takes no memory") {
  const std::string count = wire::packed(std::numeric_limits<std::uint64_t>::max());
  const std::string much = count + std::string(64, '\0');
  CHECK_THROWS_AS(wire::unpacked<std::string>(much), Error);
  CHECK_THROWS_AS(wire::unpacked<std::vector<double>>(much), Error);
  CHECK_THROWS_AS(wire::unpacked<std::vector<std::string>>(much), Error);
  using Map = std::map<int, int>;
  CHECK_THROWS_AS(wire::unpacked<Map>(much), Error);
}

TEST_CASE("an error arrives in another process with all of its parts") {
  Error error(Kind::terminated, "a.h5: /w", {"3", "4", "copy it", {Advice::What::more_memory, "4GiB"}});
  error.in_file("a.h5").of_parameter("w").advise("or not", {Advice::What::restart, ""});
  const std::string bytes = wire::packed(error);
  const auto other = wire::unpacked<Error>(bytes);
  CHECK(std::string(other.what()) == error.what());
  CHECK(wire::packed(other) == bytes);
  CHECK(other.kind() == error.kind());
  CHECK(other.text().advice == error.text().advice);
  CHECK(other.next_advice() == error.next_advice());
  CHECK(other.file() == "a.h5");
  CHECK(other.parameter() == "w");
  std::string bad = bytes;
  bad[0] = '\x7f';  // its kind
  CHECK_THROWS_AS(wire::unpacked<Error>(bad), Error);
}
