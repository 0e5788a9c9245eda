#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "layout/placement/resolve.hpp"

// A model of the largest kind, as its training job would leave it on cards.
namespace ckpt::llama {

// Llama 3.1 405B as published: 126 layers, hidden 16384, feed-forward 53248, 8 key/value heads of 128, vocabulary
// 128256.
inline constexpr std::uint64_t layers = 126;
inline constexpr std::uint64_t hidden = 16384;
inline constexpr std::uint64_t feed_forward = 53248;
inline constexpr std::uint64_t key_value = 1024;
inline constexpr std::uint64_t vocabulary = 128256;

inline std::vector<Tensor> model() {
  const DType bf16 = *number_type("bf16");
  const DType f32 = *number_type("f32");
  std::vector<Tensor> tensors;
  const auto add = [&](const std::string& name, const Shape& shape) {
    tensors.push_back({name, bf16, shape, false});
    tensors.push_back({"exp_avg." + name, f32, shape, false});
    tensors.push_back({"exp_avg_sq." + name, f32, shape, false});
  };
  add("embed_tokens.weight", {vocabulary, hidden});
  add("lm_head.weight", {vocabulary, hidden});
  add("norm.weight", {hidden});
  for (std::uint64_t i = 0; i < layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    add(layer + "self_attn.q_proj.weight", {hidden, hidden});
    add(layer + "self_attn.k_proj.weight", {key_value, hidden});
    add(layer + "self_attn.v_proj.weight", {key_value, hidden});
    add(layer + "self_attn.o_proj.weight", {hidden, hidden});
    add(layer + "mlp.gate_proj.weight", {feed_forward, hidden});
    add(layer + "mlp.up_proj.weight", {feed_forward, hidden});
    add(layer + "mlp.down_proj.weight", {hidden, feed_forward});
    add(layer + "input_layernorm.weight", {hidden});
    add(layer + "post_attention_layernorm.weight", {hidden});
  }
  return tensors;
}

inline std::string equal_blocks(std::uint64_t pp) {
  std::string counts;
  for (std::uint64_t i = 0; i < pp; ++i)
    counts += (i == 0 ? "[" : ", ") + std::to_string(layers / pp + (i < layers % pp ? 1 : 0));
  return counts + "]";
}

/// Tensor parallel over 8, pipeline over `pp` stages, and what that leaves of each parameter sharded over `dp` ranks.
inline Layout layout(std::uint64_t pp, std::uint64_t dp) {
  const std::string last = std::to_string(pp - 1);
  return parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["pp", "dp", "tp"], "shape": [)" + std::to_string(pp) +
                          ", " + std::to_string(dp) + R"(, 8]}, "parameters": [
    {"name": ["exp_avg.{p}", "exp_avg_sq.{p}"], "like": "{p}"},
    {"name": "embed_tokens.weight", "split": [["tp", "dp"]], "uneven": "ceil", "at": {"pp": 0}},
    {"name": "lm_head.weight", "split": [["tp", "dp"]], "uneven": "ceil", "at": {"pp": )" +
                          last + R"(}},
    {"name": "norm.weight", "split": ["dp"], "uneven": "ceil", "at": {"pp": )" +
                          last + R"(}},
    {"name": ["*.o_proj.weight", "*.down_proj.weight"], "split": ["dp", "tp"], "uneven": "ceil"},
    {"name": "*norm.weight", "split": ["dp"], "uneven": "ceil"},
    {"name": "*_proj.weight", "split": [["tp", "dp"]], "uneven": "ceil"}],
    "indices": [{"in": "*layers.{i}.*", "axis": "pp", "total": 126, "numbering": "local", "counts": )" +
                          equal_blocks(pp) + "}]}",
                      "plan_bench");
}

/// The files of a checkpoint as its own layout declares them: cards of one kind share one declaration, as a catalog's
/// do.
inline std::vector<CardArrays> card_arrays(const Placement& placement) {
  std::map<std::string, CardArrays> known;
  std::vector<CardArrays> files;
  for (Position card = 0; card < placement.mesh().size(); ++card) {
    std::vector<StoredArray> arrays;
    std::string key;
    for (ArrayId array = 0; array < placement.arrays().size(); ++array) {
      if (!placement.holds(card, array)) continue;
      const ArrayPlace& place = placement.arrays()[array];
      arrays.push_back({place.name, place.dtype, placement.stored_shape(array, card), std::nullopt, false});
      key += place.name + to_string(arrays.back().shape);
    }
    std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    CardArrays& arrays_on_card = known[key];
    if (!arrays_on_card) arrays_on_card = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
    files.push_back(arrays_on_card);
  }
  return files;
}

}  // namespace ckpt::llama
