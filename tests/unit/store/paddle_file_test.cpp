#include "catch.hpp"
#include "store/pdparams/paddle_store.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;

namespace {

using namespace ckpt::fixture;
using Catch::Matchers::Contains;

const std::string eight = "aaaabbbb";

std::string bytes_of(const std::string& value) {
  return "B" + little(value.size(), 4) + value;
}

std::string type(const std::string& name, const std::string& order = "<") {
  return call(global("numpy", "dtype"), {text(name), "\x89", "\x88"}) +
         tuple({integer(3), text(order), "N", "N", "N", integer(-1), integer(-1), integer(0)}) + "b";
}

/// An array as NumPy pickles it; `data` is the node of its bytes.
std::string array(const std::vector<std::int64_t>& shape, const std::string& dtype, const std::string& data,
                  bool is_by_columns = false) {
  return call(global("numpy.core.multiarray", "_reconstruct"),
              {global("numpy", "ndarray"), numbers({0}), bytes_of("b")}) +
         tuple({integer(1), numbers(shape), dtype, is_by_columns ? "\x88" : "\x89", data}) + "b";
}

std::string latin1(const std::string& value) {
  std::string utf8;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) utf8 += static_cast<char>(0xc0 | byte >> 6);
    utf8 += byte >= 0x80 ? static_cast<char>(0x80 | (byte & 0x3f)) : c;
  }
  return call(global("_codecs", "encode"), {text(utf8), text("latin1")});
}

class ReadPaddle {
 public:
  explicit ReadPaddle(const std::string& value, const std::string& name = "a.pdparams") {
    put_bytes(folder_ / name, pickle(value));
    const auto store = paddle_store();
    REQUIRE(store->recognises(folder_ / name));
    catalog_ = store->catalog(folder_ / name);
    source_ = store->open(folder_ / name, catalog_);
  }
  const Schema& schema() const { return *catalog_.schema; }
  const StoredArray& array(const std::string& name) const { return schema().arrays->at(schema().find(name)); }
  std::string data(const std::string& name) const { return data_of(*source_, catalog_, name); }

 private:
  TemporaryDirectory folder_;
  FileCatalog catalog_;
  std::unique_ptr<SourceFile> source_;
};

std::string refused(const std::string& bytes) {
  const TemporaryDirectory folder;
  put_bytes(folder / "a.pdparams", bytes);
  std::string said = refusal(*paddle_store(), folder / "a.pdparams");
  CHECK_THAT(said, Contains("a.pdparams"));
  return said;
}

std::string why_unreadable(const std::string& value) {
  const ReadPaddle file(dict({{"w", value}}));
  REQUIRE(file.array("w").refusal);
  return file.array("w").refusal->what();
}

TEST_CASE("Arrays in a pickle are tensors") {
  const ReadPaddle file(dict({{"w", array({1, 2}, type("f4"), bytes_of(eight))},
                              {"half", array({4}, type("u2"), bytes_of(eight))},
                              {"turned", array({2, 1}, type("f4"), bytes_of(eight), true)},
                              {"none", array({0, 2}, type("f4"), bytes_of(""))},
                              {"names", dict({{"w", text("linear_0.w_0")}})}}));
  CHECK(file.array("w").dtype.name == "f32");
  CHECK(Shape(file.array("w").shape) == Shape{1, 2});
  CHECK(file.data("w") == eight);
  CHECK(file.array("half").dtype.name == "bf16");
  CHECK(file.data("turned") == eight);
  CHECK(file.array("none").dtype.name == "f32");
  REQUIRE(file.schema().groups.size() == 1);
  CHECK(file.schema().groups[0].path == "names");
}

TEST_CASE("Other programs' uint16 stays what it is") {
  const ReadPaddle file(dict({{"w", array({4}, type("u2"), bytes_of(eight))}}), "a.pkl");
  CHECK(file.array("w").dtype.name == "u16");
}

TEST_CASE("Long arrays are read in place") {
  const std::string data(4000, 'x');
  const ReadPaddle file(dict({{"a", array({1000}, type("f4"), bytes_of(data))},
                              {"b", array({2}, type("f4"), bytes_of(eight))},
                              {"long", text(std::string(3000, 'n'))}}));
  CHECK(file.data("a") == data);
  CHECK(file.data("b") == eight);
  CHECK(text_in(file.schema().attributes.at(0).value) == std::string(3000, 'n'));
}

TEST_CASE("Texts of protocol 2 are decoded") {
  std::string data;
  for (int i = 0; i < 200'000; ++i) data += static_cast<char>(i * 7 % 256);
  const ReadPaddle file(dict({{"w", array({50'000}, type("f4"), latin1(data))},
                              {"none", array({0}, type("f4"), call(global("__builtin__", "bytes"), {}))}}));
  CHECK(file.data("w") == data);
}

TEST_CASE("Paddle's forms around an array are seen through") {
  const std::string w = array({2}, type("f4"), bytes_of(eight));
  const ReadPaddle file(
      dict({{"named", call(global("builtins", "tuple"), {tuple({text("linear_0.w_0"), w})})},
            {"dense", call(global("builtins", "eval"), {text("data"), dict({{"data", w}})})},
            {"other", call(global("builtins", "eval"), {text("__import__('os')"), dict({{"data", w}})})}}));
  CHECK(file.data("named") == eight);
  CHECK(file.data("dense") == eight);
  REQUIRE(file.schema().leaves.size() == 1);
  CHECK(file.schema().leaves[0].name == "other");
}

TEST_CASE("Big parameters in pieces are whole") {
  const auto piece = [](const std::string& data) { return array({2}, type("f4"), bytes_of(data)); };
  const std::string info = dict({{"OriginShape", numbers({2, 2})}, {"slices", tuple({text("w@@.0"), text("w@@.1")})}});
  const ReadPaddle file(
      dict({{"w@@.0", piece(eight)}, {"w@@.1", piece("ccccdddd")}, {"UnpackBigParamInfor@@", dict({{"w", info}})}}));
  REQUIRE(file.schema().arrays->size() == 1);
  CHECK(file.data("w") == "aaaabbbbccccdddd");
  CHECK(file.schema().groups.empty());
  CHECK_THAT(refused(pickle(dict({{"w@@.0", piece(eight)}, {"UnpackBigParamInfor@@", dict({{"w", info}})}}))),
             Contains("w@@.1"));
}

TEST_CASE("Arrays that are not as they say are refused") {
  CHECK_THAT(why_unreadable(array({3}, type("f4"), bytes_of(eight))), Contains("12"));
  CHECK_THAT(why_unreadable(array({2}, type("f4", ">"), bytes_of(eight))), Contains("numpy.>f4"));
  CHECK_THAT(why_unreadable(array({1}, type("V8", "|"), bytes_of(eight))), Contains("numpy.|V8"));
  CHECK_THAT(refused(pickle(dict({{"w", array({3}, type("f4"), latin1(eight))}}))), Contains("12"));
  CHECK_THAT(refused(pickle(dict({{"w", array({-2}, type("f4"), bytes_of(eight))}}))), Contains("-2"));
  CHECK_THAT(refused(pickle(dict({{"w", array({1LL << 62, 1LL << 62}, type("f4"), bytes_of(eight))}}))),
             Contains("2^64 or more"));
  CHECK_THAT(refused(pickle(dict({{"w", array({2}, integer(4), bytes_of(eight))}}))), Contains("numpy.dtype"));
}

TEST_CASE("Files that end early, or go on, are refused") {
  const std::string whole = pickle(dict({{"w", array({1000}, type("f4"), bytes_of(std::string(4000, 'x')))}}));
  CHECK_THAT(refused(whole.substr(0, whole.size() - 3)), Contains("ends"));
  CHECK_THAT(refused(whole.substr(0, 3000)), Contains("ends"));
  CHECK_THAT(refused(whole + whole), Contains("several files"));
}

}  // namespace
