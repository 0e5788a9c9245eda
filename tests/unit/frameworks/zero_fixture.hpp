#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "frameworks/zero_states.hpp"
#include "store/catalog.hpp"
#include "unit/store/torch_fixture.hpp"

/// What DeepSpeed's files say, as pickles and as metadata.
namespace ckpt::fixture {

using Pairs = std::vector<std::pair<std::string, std::string>>;

inline std::string ordered(const Pairs& items) {
  std::string all = call(global("collections", "OrderedDict"), {}) + "(";
  for (const auto& [key, value] : items) all += text(key) + value;
  return all + "u";
}

inline std::string size(const std::vector<std::int64_t>& shape) {
  return call(global("torch", "Size"), {numbers(shape)});
}

inline std::string list(const std::vector<std::string>& items) {
  std::string all = "](";
  for (const auto& item : items) all += item;
  return all + "e";
}

inline deepspeed::ModelStates model_states(const Pairs& root) {
  const std::string bytes = pickle(dict(root));
  std::size_t at = 0;
  return deepspeed::model_states(torch::Pickle::read(bytes, at).value());
}

/// Of 4 ranks: 138 elements in the first group, 10 in the second.
inline deepspeed::ModelStates small_model() {
  return model_states({{"dp_world_size", integer(4)},
                       {"mp_world_size", integer(1)},
                       {"param_shapes", list({ordered({{"emb.weight", size({13, 6})}, {"l1.weight", size({10, 6})}}),
                                              ordered({{"l1.bias", size({10})}})})},
                       {"frozen_param_shapes", ordered({{"table[0]", size({7})}})},
                       {"shared_params", dict({{"out.weight", text("emb.weight")}})},
                       {"buffer_names", list({text("seen")})}});
}

/// An optimizer's file: each name with its shape.
inline Schema schema_of(std::vector<std::pair<std::string, Shape>> arrays) {
  Schema schema;
  std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<StoredArray> stored;
  for (auto& [name, shape] : arrays) stored.push_back({name, *number_type("f32"), shape, {}, false});
  schema.datasets.resize(stored.size());
  schema.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(stored));
  return schema;
}

}  // namespace ckpt::fixture
