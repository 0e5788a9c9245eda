#include "base/error.hpp"
#include "catch.hpp"
#include "store/pickle/pickle.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;

namespace {

using namespace std::string_literals;
using Catch::Matchers::Contains;
using fixture::error_of;
using torch::Pickle;
using torch::PickleKind;
using torch::PickleNode;

/// The bytes must outlive what is read.
Pickle read_whole(const std::string& bytes) {
  std::size_t at = 0;
  auto pickle = Pickle::read(bytes, at);
  REQUIRE(pickle);
  CHECK(at == bytes.size());
  return std::move(*pickle);
}

std::string refused_pickle(const std::string& value) {
  const std::string bytes = fixture::pickle(value);
  std::size_t at = 0;
  return error_of([&] { Pickle::read(bytes, at); });
}

const PickleNode& item(const Pickle& pickle, std::size_t i) {
  return pickle[pickle[pickle.root()].items.at(i)];
}

TEST_CASE("Numbers, texts and containers are read as picklers of protocols 2 to 5 write them") {
  const std::string bytes =
      "\x80\x05\x95\0\0\0\0\0\0\0\0("s
      "N\x88\x89K\xffM\xff\xffJ\xff\xff\xff\xff\x8a\0\x8a\2\0\x80\x8b\1\0\0\0\x7f"s
      "\x8a\x09\0\0\0\0\0\0\0\0\x40G\x3f\xf8\0\0\0\0\0\0"s
      "X\1\0\0\0a\x8c\1b\x8d\1\0\0\0\0\0\0\0cU\1d"s
      "C\1eB\1\0\0\0f\x8e\1\0\0\0\0\0\0\0g"s
      ")](N\x91}\x94N\x85NN\x86NNN\x87t."s;
  const Pickle pickle = read_whole(bytes);
  REQUIRE(pickle[pickle.root()].items.size() == 25);
  const auto check_number = [&](std::size_t i, PickleKind kind, std::int64_t number) {
    CHECK(item(pickle, i).kind == kind);
    CHECK(item(pickle, i).number == number);
  };
  CHECK(item(pickle, 0).kind == PickleKind::none);
  check_number(1, PickleKind::boolean, 1);
  check_number(2, PickleKind::boolean, 0);
  check_number(3, PickleKind::integer, 255);
  check_number(4, PickleKind::integer, 65535);
  check_number(5, PickleKind::integer, -1);
  check_number(6, PickleKind::integer, 0);
  check_number(7, PickleKind::integer, -32768);
  check_number(8, PickleKind::integer, 127);
  CHECK(item(pickle, 9).kind == PickleKind::large_integer);
  CHECK(item(pickle, 10).real() == 1.5);
  for (std::size_t i = 11; i < 15; ++i) CHECK(item(pickle, i).kind == PickleKind::text);
  CHECK(item(pickle, 14).text == "d");
  for (std::size_t i = 15; i < 18; ++i) CHECK(item(pickle, i).kind == PickleKind::bytes);
  CHECK(item(pickle, 18).kind == PickleKind::tuple);
  CHECK(item(pickle, 19).kind == PickleKind::list);
  CHECK(item(pickle, 20).kind == PickleKind::set);
  CHECK(item(pickle, 21).kind == PickleKind::dict);
  for (std::size_t i = 22; i < 25; ++i) CHECK(item(pickle, i).items.size() == i - 21);
}

TEST_CASE("What is remembered is the same node, however often it is recalled") {
  const std::string bytes = "\x80\x04(]\x94K\1ah\0]q\5h\5r\7\0\0\0j\7\0\0\0\x32t."s;
  const Pickle pickle = read_whole(bytes);
  const auto& items = pickle[pickle.root()].items;
  REQUIRE(items.size() == 6);
  CHECK(items[0] == items[1]);
  CHECK(pickle[items[0]].items.size() == 1);
  CHECK(items[2] == items[3]);
  CHECK(items[4] == items[5]);
}

TEST_CASE("Calls are written down, not made") {
  const std::string bytes = fixture::pickle("}(" + fixture::text("a") +
                                            fixture::call(fixture::global("os", "system"), {fixture::text("rm")}) +
                                            fixture::text("b") + "\x8c\3sys\x8c\4exit\x93)\x81}b" + "u");
  const Pickle pickle = read_whole(bytes);
  const auto a = pickle.value_of(pickle.root(), "a");
  CHECK(pickle[a].kind == PickleKind::call);
  CHECK(pickle.name_of(a) == "os.system");
  CHECK(pickle[pickle[pickle[a].arguments].items[0]].text == "rm");
  const auto b = pickle.value_of(pickle.root(), "b");
  CHECK(pickle.name_of(b) == "sys.exit");
  CHECK(pickle[pickle[b].state].kind == PickleKind::dict);
  CHECK(pickle.value_of(pickle.root(), "c") == torch::no_node);
}

TEST_CASE("Pickles that no pickler writes are refused") {
  CHECK_THAT(refused_pickle("\x80\x06"), Contains("protocol 6"));
  for (const char* opcode :
       {"i", "o", "P", "I", "L", "F", "S", "V", "d", "l", "g", "p", "\x82", "\x83", "\x84", "\x97"})
    CHECK_THAT(refused_pickle(opcode), Contains("opcode 0x"));
  for (const std::string& bytes :
       std::vector<std::string>{"", "0", "2", "a", "N1", "\x86", "K\1(0", "K\1(2t", "t", "NNR0R", "Q", "q\0"s, "(."})
    CHECK_THAT(refused_pickle(bytes), Contains("where there is none") || Contains("a mark before it"));
  CHECK_THAT(refused_pickle("h\5"), Contains("memo 5"));
  CHECK_THAT(refused_pickle("Nr\xff\xff\xff\xff"), Contains("memo 4294967295"));
  CHECK_THAT(refused_pickle("NNa"), Contains("no list"));
  CHECK_THAT(refused_pickle("]NNs"), Contains("no dict"));
  CHECK_THAT(refused_pickle("}(Nu"), Contains("no dict"));
  CHECK_THAT(refused_pickle("]}b"), Contains("state"));
  CHECK_THAT(refused_pickle("cos\nsystem\n)R}b}b"), Contains("state"));
  CHECK_THAT(refused_pickle("K\1K\1\x93"), Contains("global"));
}

TEST_CASE("A length beyond the end is an end, not an allocation") {
  for (const std::string& value : {"X\xff\xff\xff\xff\x61"s, "\x8b\xff\xff\xff\x7f"s, "\x8b\xff\xff\xff\xff"s,
                                   "\x8e\xff\xff\xff\xff\xff\xff\xff\xff"s, "cos\n"s, "J\0"s, ""s}) {
    const std::string bytes = "\x80\x02" + value;
    std::size_t at = 0;
    CHECK_FALSE(Pickle::read(bytes, at));
    CHECK(at == 0);
  }
}

TEST_CASE("Deep, doubled and circular pickles cost no more than their bytes") {
  const std::string deep = fixture::pickle(std::string(1'000'000, ']') + std::string(999'999, 'a'));
  CHECK(read_whole(deep).nodes().size() == 1'000'000);
  std::string doubled = "]q"s + '\0';
  for (char i = 0; i < 60; ++i) doubled += "h"s + i + "h" + i + "\x86q" + static_cast<char>(i + 1);
  doubled = fixture::pickle(doubled);
  CHECK(read_whole(doubled).nodes().size() == 61);
  const std::string circular = fixture::pickle("]q\0h\0a"s);
  const Pickle pickle = read_whole(circular);
  CHECK(pickle[pickle.root()].items.front() == pickle.root());
}

}  // namespace
