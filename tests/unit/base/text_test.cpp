#include "base/text.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

TEST_CASE("sizes are read as people write them") {
  CHECK(parse_bytes("4096", "--memory") == 4096);
  CHECK(parse_bytes("0", "--memory") == 0);
  CHECK(parse_bytes("512MiB", "--memory") == 512ULL << 20);
  CHECK(parse_bytes("2 GB", "--memory") == 2'000'000'000);
  CHECK(parse_bytes("1.5KiB", "--memory") == 1536);
  CHECK(parse_bytes("3TiB", "--memory") == 3ULL << 40);
  CHECK(parse_bytes("7 B", "--memory") == 7);
  CHECK(parse_bytes("4G", "--memory") == 4ULL << 30);
  CHECK(parse_bytes("512M", "--memory") == 512ULL << 20);
  CHECK(parse_bytes("1.5K", "--memory") == 1536);
  CHECK(parse_bytes("2T", "--memory") == 2ULL << 40);
}

TEST_CASE("what is no size is refused by the option's name") {
  const char* text =
      GENERATE("", "MiB", "12 miles", "-1", "1e30", "9000000TiB", "0x10", "nan", "inf", "1 MiB ", "5MiBs", "4g", "4Gi");
  CAPTURE(text);
  try {
    parse_bytes(text, "--memory");
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.kind() == Kind::usage);
    CHECK_THAT(error.what(), Contains("--memory: '" + std::string(text) + "' is not a size"));
    CHECK_THAT(error.what(), Contains("512MiB"));
  }
}

TEST_CASE("times are read as people and batch systems write them") {
  for (const auto& [text, seconds] : {std::pair{"0", 0.0},
                                      {"90", 90.0},
                                      {"2.5s", 2.5},
                                      {"15m", 900.0},
                                      {"1h", 3600.0},
                                      {"2d", 172800.0},
                                      {"15:30", 930.0},
                                      {"01:00:00", 3600.0},
                                      {"1-02:00:00", 93600.0}}) {
    CAPTURE(text);
    CHECK(parse_duration(text, "--wait-timeout") == seconds);
  }
  for (const char* text : {"", "-1", "soon", "1x", "1:2:3:4", "1-02:00", "h", "nan", "1e10", ":", "1h30m"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_duration(text, "--wait-timeout"), Error);
  }
}

TEST_CASE("sizes are shown with one decimal") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1.0 KiB");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bytes((1ULL << 20) - 1) == "1.0 MiB");  // not 1024.0 KiB
  CHECK(format_bytes(~0ULL) == "16.0 EiB");
}

TEST_CASE("lists end where there are too many words") {
  CHECK(join({}) == "");
  CHECK(join({"a", "b"}) == "a, b");
  CHECK(join({"a", "b", "c", "d"}, 2) == "a, b, … (2 more)");
  CHECK(format_list(std::vector<int>{}) == "[]");
  CHECK(format_list(std::vector<int>{512, 4096}) == "[512, 4096]");
}

TEST_CASE("names are ordered as people count") {
  std::vector<std::string> names{"layers.10.w", "layers.2.w", "b",  "layers.2.b", "layers.1",
                                 "a10b2",       "a10b10",     "a9", "a010",       "layers"};
  std::sort(names.begin(), names.end(), natural_less);
  CHECK(names == std::vector<std::string>{"a9", "a010", "a10b2", "a10b10", "b", "layers", "layers.1", "layers.2.b",
                                          "layers.2.w", "layers.10.w"});
}

TEST_CASE("the order of names is one") {
  const std::vector<std::string> names{"",
                                       "a",
                                       "a0",
                                       "a00",
                                       "a1",
                                       "a01",
                                       "a1b",
                                       "a01a",
                                       "a10",
                                       "a2",
                                       "1",
                                       "01",
                                       "a99999999999999999999999",
                                       "a100000000000000000000000"};
  for (const auto& a : names) {
    CHECK_FALSE(natural_less(a, a));
    for (const auto& b : names) {
      CAPTURE(a, b);
      CHECK((a == b || natural_less(a, b) != natural_less(b, a)));
      for (const auto& c : names) {
        CAPTURE(c);
        CHECK((!(natural_less(a, b) && natural_less(b, c)) || natural_less(a, c)));
      }
    }
  }
}

TEST_CASE("the nearest names come first") {
  const std::vector<std::string> names{"wq", "wk", "wv", "attn.wq", "embedding"};
  CHECK(nearest("wqq", names, 1) == std::vector<std::string>{"wq"});
  CHECK(nearest("embeding", names, 1) == std::vector<std::string>{"embedding"});
  CHECK(nearest("wk", names, 2) == std::vector<std::string>{"wk", "wq"});
  CHECK(nearest("x", names, 9).size() == names.size());
  CHECK(nearest("x", {}).empty());
  CHECK(nearest("x", names, 0).empty());
  // Of names that are equally near, the first in order, wherever they stand.
  CHECK(nearest("wz", {"wy", "wxx", "wb", "wc", "wa"}, 2) == std::vector<std::string>{"wa", "wb"});
}
