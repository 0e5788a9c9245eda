#include "checkpoint/reference.hpp"

#include <cstring>

#include "catch.hpp"
#include "checkpoint/reference_json.hpp"
#include "refused.hpp"
#include "unit/memory_checkpoint.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

std::string refused_json(const std::string& text) {
  return refused([&] { parse_reference(text, "ref.json"); }, Kind::layout);
}

std::vector<Tensor> tensors_of(const std::string& text) {
  return std::get<std::vector<Tensor>>(parse_reference(text, "ref.json"));
}

/// A directory of safetensors files whose elements count 0, 1, 2 … in each tensor.
struct Shards {
  TemporaryDirectory directory;
  Stores stores;
  std::unique_ptr<Communicator> alone = single_process();

  void add(const std::string& file, const std::map<std::string, Shape>& tensors, const std::string& layout = "") {
    FileSpec spec;
    spec.layout = layout;
    for (const auto& [name, shape] : tensors) spec.arrays.push_back({name, f32(), shape, {}, {}, {}});
    Store& store = stores.named("safetensors");
    const FileRoom room = store.create(directory / file, spec);
    const auto target = store.open_to_fill(directory / file, room);
    for (std::size_t array = 0; array < spec.arrays.size(); ++array) {
      std::vector<float> values(numel(spec.arrays[array].shape));
      std::iota(values.begin(), values.end(), 0.0F);
      std::vector<Interval> places;
      room.data[array].append_to(places);
      target->write(places.front().lo, std::as_bytes(std::span(values)));
    }
  }
  Reference load(const std::string& name) { return Reference::load(directory / name, stores.reading(), *alone); }
  std::string refused_index(const std::string& weight_map) {
    write_text(directory / "index.json", R"({"metadata": {}, "weight_map": {)" + weight_map + "}}");
    return refused([&] { load("index.json"); });
  }
};

}  // namespace

TEST_CASE("a reference as JSON: names, shapes and dtypes by any of their names") {
  const auto tensors =
      tensors_of(R"({"w": {"shape": [2, 3], "dtype": "bf16"}, "a": {"dtype": "torch.bfloat16", "shape": []},
                                      "s": {"shape": [0], "dtype": "F8_E4M3"}, "f": {"shape": [1], "dtype": "float32"}})");
  const Reference reference("ref.json", tensors);
  REQUIRE(reference.tensors().size() == 4);
  CHECK(reference.tensors()[0].name == "a");
  CHECK(reference.tensors()[0].dtype.name == "bf16");
  CHECK(reference.tensors()[1].dtype.name == "f32");
  CHECK(reference.tensors()[2].dtype.name == "f8_e4m3");
  CHECK(reference.tensors()[3].shape == Shape{2, 3});
  CHECK(reference.find("w") == std::size_t{3});
  CHECK_FALSE(reference.find("v"));
  CHECK(reference.data() == nullptr);
}

TEST_CASE("JSON that is no reference is refused with its place") {
  CHECK_THAT(refused_json("w: 1"), Contains("ref.json: line 1, column 1") && Contains("a safetensors index"));
  CHECK_THAT(refused_json("[]"), Contains("expected an object"));
  CHECK_THAT(refused_json("{}"), Contains("found no tensor"));
  CHECK_THAT(refused_json(R"({"w": {"shape": [2], "dtype": "f32"}, "w": {"shape": [2], "dtype": "f32"}})"),
             Contains("the key \"w\" twice"));
  CHECK_THAT(refused_json(R"({"w": {"shape": [2]}})"), Contains("ref.json: /w: found no key \"dtype\""));
  CHECK_THAT(refused_json(R"({"w": {"shape": [2], "dtype": "f32", "card": 0}})"), Contains("the unknown key \"card\""));
  CHECK_THAT(refused_json(R"({"w": {"shape": [2, -1], "dtype": "f32"}})"), Contains("/w/shape/1: found -1"));
  CHECK_THAT(refused_json(R"({"w": {"shape": [4294967296, 4294967296], "dtype": "f32"}})"),
             Contains("/w/shape") && Contains("fewer than 2^64 bytes"));
  CHECK_THAT(refused_json(R"({"w": {"shape": [2], "dtype": "f31"}})"),
             Contains("/w/dtype: found \"f31\", expected the name of a dtype"));
  CHECK_THAT(refused_json(R"({"weight_map": {"w": "../w.safetensors"}})"),
             Contains("/weight_map/w: ") && Contains("a file beside the index"));
}

TEST_CASE("a reference is a file, or several with an index, and can be read") {
  Shards shards;
  shards.add("one.safetensors", {{"w", {3, 4}}, {"b", {5}}});
  shards.add("two.safetensors", {{"v", {2}}});
  write_text(shards.directory / "index.json",
             R"({"weight_map": {"w": "one.safetensors", "b": "one.safetensors", "v": "two.safetensors"}})");
  for (const auto& [name, count] : {std::pair{"one.safetensors", 2}, std::pair{"index.json", 3}}) {
    const Reference reference = shards.load(name);
    CHECK(reference.origin() == (shards.directory / name).string());
    REQUIRE(reference.data() != nullptr);
    REQUIRE(reference.tensors().size() == static_cast<std::size_t>(count));
    const std::size_t w = *reference.find("w");
    CHECK(reference.tensors()[w].shape == Shape{3, 4});
    ReferenceReader reader(reference, shards.stores.reading(), 1 << 20, 4);
    std::vector<float> box(4);
    reader.read(w, {{1, 2}, {3, 4}}, std::as_writable_bytes(std::span(box)));
    CHECK(box == std::vector<float>{6, 7, 10, 11});
  }
}

TEST_CASE("a reference is a directory whose files carry its layout") {
  Shards shards;
  const std::string layout =
      R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [2]}, "files": "rank_{card}.safetensors",
          "parameters": [{"name": "*", "split": ["x"]}]})";
  for (const char* const file : {"rank_0.safetensors", "rank_1.safetensors"}) shards.add(file, {{"w", {3, 4}}}, layout);
  const Reference reference = shards.load(".");
  REQUIRE(reference.tensors().size() == 1);
  CHECK(reference.tensors()[0].shape == Shape{6, 4});
  ReferenceReader reader(reference, shards.stores.reading(), 1 << 20, 4);
  std::vector<float> box(4);
  reader.read(0, {{2, 1}, {4, 3}}, std::as_writable_bytes(std::span(box)));
  CHECK(box == std::vector<float>{9, 10, 1, 2});
}

TEST_CASE("an index that lies is refused") {
  Shards shards;
  shards.add("one.safetensors", {{"w", {3, 4}}, {"b", {5}}});
  shards.add("two.safetensors", {{"v", {2}}});
  CHECK_THAT(shards.refused_index(R"("w": "one.safetensors")"),
             Contains("one.safetensors: it holds 'b'") && Contains("does not name;"));
  CHECK_THAT(shards.refused_index(R"("w": "one.safetensors", "b": "two.safetensors", "v": "two.safetensors")"),
             Contains("one.safetensors: it holds 'b'") && Contains("says is in two.safetensors"));
  CHECK_THAT(shards.refused_index(R"("w": "one.safetensors", "b": "one.safetensors", "u": "one.safetensors")"),
             Contains("one.safetensors: it does not hold 'u'"));
  CHECK_THAT(shards.refused_index(R"("w": "three.safetensors")"), Contains("three.safetensors: no such file"));
}

TEST_CASE("a reference that is not there, or a directory that does not say how it is cut") {
  Shards shards;
  CHECK_THAT(refused([&] { shards.load("none"); }, Kind::usage), Contains("none: no such file or directory"));
  for (const char* name : {"rank_0.safetensors", "rank_1.safetensors"}) shards.add(name, {{"w", {3, 4}}});
  CHECK_THAT(refused([&] { shards.load("."); }), Contains("it carries no layout of its own"));
}
