#include <algorithm>
#include <filesystem>
#include <map>

#include "base/wire.hpp"
#include "catch.hpp"
#include "spec_of.hpp"
#include "store/stores.hpp"
#include "store/tensorflow/element_types.hpp"
#include "store/tensorflow/read_bundle.hpp"
#include "store/tensorflow/slice_key.hpp"
#include "store/tensorflow/snappy.hpp"
#include "store/tensorflow/string_tensor.hpp"
#include "store/tensorflow/table.hpp"
#include "store/tensorflow/write_file.hpp"
#include "unit/store/hdf5_fixture.hpp"

using namespace ckpt;

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using Catch::Matchers::Contains;
using fixture::error_of;
using fixture::TemporaryDirectory;

const fs::path golden = fs::path(CKPT_SOURCE_DIR) / "tests/golden/tensorflow";

const tensorflow::BundleTensor& tensor_of(const tensorflow::BundleContents& contents, const std::string& name) {
  const auto& tensors = contents.bundle.tensors;
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& each) { return each.name == name; });
  REQUIRE(found != tensors.end());
  return *found;
}

std::map<std::string, std::string> entries_of(const std::string& table) {
  const TemporaryDirectory folder;
  fixture::put_bytes(folder / "table", table);
  const PosixFile file = PosixFile::open_for_reading(folder / "table");
  std::map<std::string, std::string> entries;
  tensorflow::for_each_entry(file, table.size(),
                             [&](std::string_view key, std::string_view value) { entries.emplace(key, value); });
  return entries;
}

}  // namespace

TEST_CASE("slices have the keys that TensorFlow gives them") {
  using tensorflow::slice_key;
  const std::string name = "\0w/k\0\1\1\2"s;
  CHECK(slice_key("w/k", {{0, 70}, {0, -1}}) == name + "\x80\xc0\x46\x80\x7f"s);
  CHECK(slice_key("w/k", {{70, 130}, {0, 4}}) == name + "\xc0\x46\xc0\x82\x80\x84"s);
  CHECK(slice_key("a\0\xff"s, {{63, 64}}) == "\0a\0\xff\xff\0\0\1\1\1\xbf\xc0\x40"s);
  CHECK(slice_key("", {{0x424242, 1}}) == "\0\0\1\1\1\xf0\x42\x42\x42\x81"s);
}

TEST_CASE("a table of many blocks is read as it was written") {
  std::map<std::string, std::string> entries{{"", "header"}};
  for (int i = 0; i < 20000; ++i) entries.emplace("layer_" + std::to_string(i) + "/kernel", std::string(i % 50, 'v'));
  const std::string table = tensorflow::table_of(entries);
  CHECK(table.size() > 2U << 18U);
  CHECK(entries_of(table) == entries);
}

TEST_CASE("each damaged byte of a table is found") {
  const std::string table = tensorflow::table_of({{"", "header"}, {"a/b", "one"}, {"a/c", "two"}});
  for (std::size_t i = 0; i < table.size() - 48; ++i) {  // the footer has no checksum
    std::string damaged = table;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    const bool is_of_other_blocks = i >= table.size() - 48 - 5 - 8 - 40;
    if (!is_of_other_blocks) CHECK_THROWS_AS(entries_of(damaged), Error);
  }
}

TEST_CASE("snappy's copies may overlap what they make, and reach no further back") {
  CHECK(tensorflow::unpacked_snappy("\x0c\x08"s + "abc" + "\x15\x03", 100) == "abcabcabcabc");
  CHECK_THROWS_AS(tensorflow::unpacked_snappy("\x0c\x08"s + "abc" + "\x15\x04", 100), Error);
  CHECK_THROWS_AS(tensorflow::unpacked_snappy("\x0c\x08"s + "abc" + "\x15\x03", 11), Error);
  CHECK_THROWS_AS(tensorflow::unpacked_snappy("\x0d\x08"s + "abc" + "\x15\x03", 100), Error);
}

TEST_CASE("strings are stored with the checksums of their lengths and bytes") {
  const std::vector<std::string> elements{"a", "", "\xe4\xb8\xad\0x"s, std::string(300, 'd')};
  const auto stored = tensorflow::stored_strings(elements);
  CHECK(stored.bytes.substr(0, 9) == "\x01\x00\x05\xac\x02\x97\x39\xff\x1b"s);
  CHECK(stored.bytes.size() == 315);
  CHECK(tensorflow::elements_in(stored.bytes, 4, stored.crc) == elements);
  CHECK_THROWS_AS(tensorflow::elements_in(stored.bytes, 4, stored.crc + 1), Error);
  CHECK_THROWS_AS(tensorflow::elements_in(stored.bytes, 3, stored.crc), Error);
  CHECK_FALSE(tensorflow::are_texts("s", elements));
  CHECK(tensorflow::are_texts("s", {"a", ""}));
  CHECK_FALSE(tensorflow::are_texts("_CHECKPOINTABLE_OBJECT_GRAPH", {"a"}));
  const auto none = tensorflow::stored_strings({});
  CHECK(none.bytes == "\xd8\xea\x82\xa2"s);  // the masked sum of no lengths
  CHECK(tensorflow::elements_in(none.bytes, 0, none.crc).empty());
  const std::string tree = tensorflow::tree_of({{"s", {2, 2}, elements}});
  CHECK(tensorflow::admitted_tree(tree) == tree);
  CHECK(tensorflow::chosen_tree(tree, [](const std::string&) { return std::optional<std::string>(); }).empty());
  CHECK_THROWS_AS(tensorflow::admitted_tree(tree + "\n"), Error);
}

TEST_CASE("TensorFlow's types are known by their numbers, those without a type of ours by the mark") {
  for (std::uint32_t number = 0; number < 40; ++number)
    if (const auto type = tensorflow::element_type(number))
      CHECK(tensorflow::number_of(type->dtype, type->mark) == number);
  CHECK(tensorflow::number_of(*number_type("i8"), "int4") == 29);
  CHECK(tensorflow::number_of(*number_type("i8"), "torch.int8") == 6);
  CHECK(tensorflow::number_of(*number_type("f32"), "int4") == 1);
}

TEST_CASE("a partitioned variable is one tensor, whose pieces lie where the index says") {
  const auto contents = tensorflow::read_bundle({golden / "slices2d", "model.ckpt-1"});
  REQUIRE(contents.bundle.files.size() == 3);
  const auto& tensor = tensor_of(contents, "w/k");
  CHECK(tensor.shape == Shape{200, 10});
  REQUIRE(tensor.pieces.size() == 3);
  CHECK(to_string(tensor.pieces[1].box) == "[70:200, 0:4]");
  const auto in_one = tensorflow::read_bundle({golden / "partitioned", "model.ckpt-10"});
  CHECK(in_one.slots == std::vector<std::uint32_t>{4});
  CHECK(in_one.catalogs.size() == 4);
}

TEST_CASE("strings that are no texts are leaves, and the tree has them") {
  const tensorflow::BundlePlace place{golden / "object_graph", "ckpt-1"};
  const auto contents = tensorflow::read_bundle(place);
  const Schema& first = *contents.catalogs.front().schema;
  REQUIRE(first.leaves.size() == 1);
  CHECK(first.leaves.front().name == tensorflow::object_graph);
  const auto tensors = tensorflow::tensors_in(tensorflow::read_tree(place));
  REQUIRE(tensors.size() == 1);
  CHECK(tensors.front().shape.empty());
}

TEST_CASE("the first form, big-endian bundles and other files are refused by name") {
  const TemporaryDirectory folder;
  fs::copy_file(golden / "v1/model.ckpt-1", folder / "w.index");
  fs::copy_file(golden / "handmade/big.index", folder / "big.index");
  fixture::put_bytes(folder / "text.index", "text");
  const auto message = [&](const std::string& prefix) {
    return error_of([&] { tensorflow::read_bundle({(folder / prefix).parent_path(), prefix}); });
  };
  CHECK_THAT(message("w"), Contains("V1"));
  CHECK_THAT(message("big"), Contains("big-endian"));
  CHECK_THAT(message("text"), Contains("does not end as an index"));
}
