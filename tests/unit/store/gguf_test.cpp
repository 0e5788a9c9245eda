#include <filesystem>
#include <limits>

#include "catch.hpp"
#include "store/gguf/gguf_store.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::error_of;
using fixture::little;
using fixture::TemporaryDirectory;

std::string text(const std::string& value) {
  return little(value.size(), 8) + value;
}

std::string value(const std::string& key, std::uint64_t type, const std::string& bytes) {
  return text(key) + little(type, 4) + bytes;
}

/// A tensor's line; its dimensions as GGUF has them, the innermost first.
std::string tensor(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint64_t type,
                   std::uint64_t offset) {
  std::string line = text(name) + little(dims.size(), 4);
  for (const std::uint64_t size : dims) line += little(size, 8);
  return line + little(type, 4) + little(offset, 8);
}

std::string gguf(const std::vector<std::string>& tensors, const std::string& data,
                 const std::vector<std::string>& values = {}, std::uint64_t alignment = 32) {
  std::string file = "GGUF" + little(3, 4) + little(tensors.size(), 8) + little(values.size(), 8);
  for (const std::string& each : values) file += each;
  for (const std::string& each : tensors) file += each;
  file.resize((file.size() + alignment - 1) / alignment * alignment);
  return file + data;
}

std::map<std::string, std::string> read(const std::string& bytes) {
  const TemporaryDirectory folder;
  fixture::put_bytes(folder / "a.gguf", bytes);
  const auto store = gguf_store();
  const FileCatalog catalog = store->catalog(folder / "a.gguf");
  const auto source = store->open(folder / "a.gguf", catalog);
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < catalog.schema->arrays->size(); ++i) {
    const StoredArray& array = (*catalog.schema->arrays)[i];
    std::string elements = array.refusal ? array.refusal->what() : std::string(bytes_of(array), '\0');
    if (!array.refusal && !elements.empty()) source->read(i, 0, std::as_writable_bytes(std::span(elements)));
    found[array.name.str() + (array.refusal ? "" : " " + array.dtype.name.str() + to_string(array.shape))] = elements;
  }
  return found;
}

std::string refusal(const std::string& bytes) {
  return error_of([&] { read(bytes); });
}

}  // namespace

TEST_CASE("tensors of GGUF that are numbers are read, with the outermost dimension first") {
  const std::string bytes = gguf(
      {tensor("b", {2, 3}, 30, 0), tensor("a", {1}, 0, 64), tensor("q", {32}, 8, 128), tensor("none", {0, 4}, 1, 0)},
      std::string("aabbccddeeff").append(52, '\0') + "last",
      {value("tokens", 9, little(8, 4) + little(2, 8) + text("a") + text("")),
       value("nested", 9, little(9, 4) + little(1, 8) + little(0, 4) + little(3, 8) + "xyz"),
       value("general.alignment", 4, little(64, 4))},
      64);
  const auto found = read(bytes);
  REQUIRE(found.size() == 4);
  CHECK(found.at("b bf16[3, 2]") == "aabbccddeeff");
  CHECK(found.at("a f32[1]") == "last");
  CHECK(found.at("none f16[4, 0]").empty());
  CHECK_THAT(found.at("q"), Contains("Q8_0"));
}

TEST_CASE("files of GGUF that lie, end early or are of other versions are refused") {
  const std::string sound = gguf({tensor("w", {2}, 0, 0)}, "12345678", {value("k", 6, "1234")});
  REQUIRE(read(sound).size() == 1);
  for (std::size_t bytes = 0; bytes < sound.size(); ++bytes) CHECK_FALSE(refusal(sound.substr(0, bytes)).empty());
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  CHECK_THAT(refusal(gguf({tensor("w", {2}, 0, 32)}, "12345678")), Contains("/w: 8 bytes from byte 32 of the data on"));
  CHECK_THAT(refusal(gguf({tensor("w", {2}, 0, huge)}, "12345678")), Contains("/w"));
  CHECK_THAT(refusal(gguf({tensor("w", {huge, huge}, 0, 0)}, "")), Contains("2^64"));
  CHECK_THAT(refusal(gguf({tensor("w", std::vector<std::uint64_t>(9, 1), 0, 0)}, "")), Contains("9 dimensions"));
  CHECK_THAT(refusal(gguf({tensor("w", {}, 0, 0), tensor("w", {}, 0, 0)}, "1234")), Contains("/w: stands there twice"));
  CHECK_THAT(refusal(gguf({}, "", {value("k", 13, "")})), Contains("type 13"));
  CHECK_THAT(refusal(gguf({}, "", {value("k", 9, little(10, 4) + little(huge, 8))})), Contains("2^64"));
  CHECK_THAT(refusal(gguf({}, "", {value("general.alignment", 4, little(24, 4))})), Contains("is 24"));
  CHECK_THAT(refusal(gguf({tensor("w", {2}, 0, 4)}, "123456789012")), Contains("/w: begins at byte 4"));
  CHECK_THAT(refusal(gguf({tensor("w", {2}, 0, 0), tensor("v", {2}, 0, 0)}, "12345678")),
             Contains("/w: has bytes of 'v'"));
  const std::string alignment = value("general.alignment", 4, little(32, 4));
  CHECK_THAT(refusal(gguf({}, "", {alignment, alignment})), Contains("stands there twice"));
  CHECK_THAT(refusal(gguf({}, "", {value("split.count", 2, little(3, 2))})), Contains("llama-gguf-split --merge"));
  CHECK(read(gguf({tensor("w", {2}, 0, 0)}, "12345678", {value("split.count", 2, little(1, 2))})).size() == 1);
  std::string deep = value("k", 9, "");
  for (int i = 0; i < 8; ++i) deep += little(9, 4) + little(1, 8);
  CHECK_THAT(refusal(gguf({}, "", {deep})), Contains("arrays in arrays"));
  std::string many = sound;
  many[8 + 7] = '\x7f';
  CHECK_FALSE(refusal(many).empty());
  std::string version = sound;
  version[4] = 1;
  CHECK_THAT(refusal(version), Contains("version 1"));
  version.replace(4, 4, std::string("\0\0\0\3", 4));
  CHECK_THAT(refusal(version), Contains("big-endian"));
}
