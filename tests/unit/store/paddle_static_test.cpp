#include <filesystem>

#include "catch.hpp"
#include "store/paddle_static/paddle_static_store.hpp"
#include "store/paddle_static/program.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using Catch::Matchers::Contains;
using fixture::error_of;
using fixture::little;
using fixture::TemporaryDirectory;

const fs::path golden = fs::path(CKPT_SOURCE_DIR) / "tests/golden/paddle/static";

/// A tensor of f32 as save_combine writes it, with a dimension a byte.
std::string tensor(const std::string& dims, const std::string& elements, std::uint64_t levels = 0) {
  std::string description = "\x08\x05"s;
  for (const char size : dims) description += "\x10"s + size;
  return little(0, 4) + little(levels, 8) + little(0, 4) + little(description.size(), 4) + description + elements;
}

/// A field of protocol buffers: a message, or a number.
std::string field(int number, const std::string& message) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(message.size()) + message;
}
std::string field(int number, char value) {
  return std::string(1, static_cast<char>(number << 3)) + value;
}

std::string variable(const std::string& name, const std::string& dims, char kind = 7, char is_persistable = 1) {
  std::string sizes;
  for (const char size : dims) sizes += field(2, size);
  return field(3, field(1, name) + field(2, field(1, kind) + field(3, field(1, sizes))) + field(3, is_persistable));
}

std::string program(const std::string& variables) {
  return field(1, variables);
}

struct Files {
  TemporaryDirectory folder;
  fs::path params = folder / "m.pdiparams";

  Files(const std::string& bytes, const std::string& of_program = "") {
    fixture::put_bytes(params, bytes);
    if (!of_program.empty()) fixture::put_bytes(folder / "m.pdmodel", of_program);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    const FileCatalog catalog = paddle_static_store()->catalog(params);
    for (const StoredArray& each : *catalog.schema->arrays) found.push_back(each.name.str());
    return found;
  }
  std::string refusal() const {
    return error_of([&] { names(); });
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a program gives its persistable variables' names, in their order, to the tensors of a file") {
  const std::string two = tensor("\2", "12345678") + tensor("\1\1", "abcd");
  CHECK(Files(two).names() == Names{"0", "1"});
  CHECK(Files(tensor("\2", "12345678")).names() == Names{"m.pdiparams"});
  const std::string known =
      variable("w", "\1\1") + variable("b", "\2") + variable("feed", "", 9) + variable("x", "\1", 7, 0);
  const Files named(two, program(known));
  CHECK(named.names() == Names{"b", "w"});
  const auto store = paddle_static_store();
  const FileCatalog catalog = store->catalog(named.params);
  std::string elements(4, '\0');
  store->open(named.params, catalog)->read(1, 0, std::as_writable_bytes(std::span(elements)));
  CHECK(elements == "abcd");
  CHECK_THAT(Files(two, program(variable("b", "\2"))).refusal(), Contains("2 tensors, expected 1"));
  CHECK_THAT(Files(two, program(variable("b", "\3") + variable("w", "\1\1"))).refusal(), Contains("/b"));
}

TEST_CASE("files that are no tensors, or end too early, are refused") {
  const std::string sound = tensor("\2", "12345678");
  for (std::size_t bytes = 0; bytes < sound.size(); ++bytes)
    CHECK_FALSE(Files(sound.substr(0, bytes)).refusal().empty());
  CHECK_THAT(Files(sound + "x").refusal(), Contains("ends 1 bytes after"));
  CHECK_THAT(Files(tensor("\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f", "")).refusal(), Contains("2^64"));
  std::string other_type = sound;
  other_type[21] = '\x07';
  CHECK_THAT(Files(other_type).refusal(), Contains("Paddle's type 7"));
  std::string negative = tensor("\1", "1234");
  negative.replace(20, 4, "\x08\x05\x10\xff"s);
  CHECK_FALSE(Files(negative).refusal().empty());
}

TEST_CASE("Paddle's own programs, as protocol buffers and as JSON, name what is beside them") {
  for (const auto& entry : fs::recursive_directory_iterator(golden)) {
    if (entry.path().extension() != ".pdmodel" && entry.path().extension() != ".json") continue;
    INFO(entry.path());
    const auto variables = paddle_static::read_program(entry.path());
    CHECK_FALSE(variables.empty());
    for (const auto& each : variables) CHECK_FALSE(each.name.empty());
  }
}

TEST_CASE("a program that is damaged anywhere is refused, or has other variables") {
  const TemporaryDirectory folder;
  const std::string sound = program(variable("w", "\1\1") + variable("b", "\2"));
  for (std::size_t at = 0; at < sound.size(); ++at) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
    fixture::put_bytes(folder / "m.pdmodel", damaged);
    error_of([&] { paddle_static::read_program(folder / "m.pdmodel"); });
  }
  fixture::put_bytes(folder / "m.pdmodel", R"({"program": 1})");
  CHECK(paddle_static::read_program(folder / "m.pdmodel").empty());
  CHECK(paddle_static::fits({"w", {std::nullopt, 2}}, {7, 2}));
  CHECK_FALSE(paddle_static::fits({"w", {std::nullopt, 2}}, {7, 3}));
  CHECK_FALSE(paddle_static::fits({"w", {2}}, {2, 1}));
}
