#include "layout/names/model_files.hpp"

#include "base/error.hpp"
#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

/// The names of the tensors in each file, by the names of the files.
std::map<std::string, Words> files(const Layout& layout, const std::vector<Tensor>& tensors) {
  const Placement placement = target(layout, tensors);
  std::map<std::string, Words> found;
  for (Position card = 0; card < placement.mesh().size(); ++card) {
    Words& names = found[placement.layout().files.path(placement.mesh(), card)];
    for (ArrayId array = 0; array < placement.arrays().size(); ++array)
      if (placement.holds(card, array)) names.push_back(placement.arrays()[array].name);
  }
  return found;
}

std::map<std::string, Words> files(const std::vector<Tensor>& tensors, std::uint64_t most_bytes) {
  return files(model_files(tensors, most_bytes, ".safetensors"), tensors);
}

}  // namespace

TEST_CASE("a model's files are filled one after another, in natural order") {
  const std::vector<Tensor> tensors{tensor("layers.10.w", {4}), tensor("layers.2.b", {0}), tensor("layers.2.w", {4}),
                                    tensor("embed", {2}), tensor("norm", {2})};
  CHECK(files(tensors, 24) ==
        std::map<std::string, Words>{{"model-00001-of-00002.safetensors", {"embed", "layers.2.b", "layers.2.w"}},
                                     {"model-00002-of-00002.safetensors", {"layers.10.w", "norm"}}});
  CHECK(files(tensors, 23).size() == 4);
  CHECK(files(tensors, 48) == std::map<std::string, Words>{
                                  {"model.safetensors", {"embed", "layers.10.w", "layers.2.b", "layers.2.w", "norm"}}});
  CHECK(files(tensors, 47).size() == 2);
}

TEST_CASE("a tensor that is too large for any file has one of its own") {
  const std::vector<Tensor> tensors{tensor("a", {1}), tensor("b", {100}), tensor("c", {1})};
  const auto found = files(tensors, 8);
  CHECK(found.at("model-00001-of-00003.safetensors") == Words{"a"});
  CHECK(found.at("model-00002-of-00003.safetensors") == Words{"b"});
  CHECK(found.at("model-00003-of-00003.safetensors") == Words{"c"});
}

TEST_CASE("the layout of a model's files can be carried by them, whatever the names") {
  const std::vector<Tensor> tensors{tensor("a*", {2}), tensor("a?", {2}), tensor("a[b]", {2}), tensor("a{x}", {2})};
  const Layout layout = model_files(tensors, 8, ".h5");
  const Layout carried = parse_layout(to_json(layout), "carried");
  CHECK(to_json(carried) == to_json(layout));
  CHECK(files(carried, tensors) == files(layout, tensors));
  CHECK(files(carried, tensors).size() == 4);
  CHECK(carried.mesh.cards == std::vector<std::uint64_t>{1, 2, 3, 4});
}

TEST_CASE("an index says which file holds each tensor, and how many bytes there are") {
  const std::vector<Tensor> tensors{tensor("z\"", {4}), tensor("b", {2, 3})};
  CHECK(model_index_name(".safetensors") == "model.safetensors.index.json");
  CHECK(model_index_name(".pt") == "pytorch_model.bin.index.json");
  CHECK(model_index_name(".bin") == "pytorch_model.bin.index.json");
  CHECK(files(model_files(tensors, 24, ".pt"), tensors).contains("pytorch_model-00002-of-00002.bin"));
  CHECK(files(model_files(tensors, 99, ".pt"), tensors).contains("pytorch_model.bin"));
  CHECK(model_index(target(model_files(tensors, 24, ".safetensors"), tensors)) == R"({
  "metadata": {
    "total_size": 40
  },
  "weight_map": {
    "b": "model-00001-of-00002.safetensors",
    "z\"": "model-00002-of-00002.safetensors"
  }
}
)");
}
