#include "layout/placement/number_ties.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "base/text.hpp"
#include "layout/placement/quantised_weights.hpp"
#include "tensor/known_types.hpp"

namespace ckpt {

namespace {

using Role = NumberTie::Role;

constexpr std::string_view separators = "./:";

template <std::size_t Count>
bool holds_any(std::string_view text, const std::array<std::string_view, Count>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

/// bitsandbytes appends the format ("weight.quant_state.bitsandbytes__nf4"), VPTQ the word for a module's tensor
/// ("centroids.weight").
std::string_view without_format(std::string_view name) {
  constexpr std::string_view word = "quant_state";
  if (const std::size_t found = name.rfind(word); found != std::string_view::npos)
    return name.substr(0, found + word.size());
  constexpr std::string_view weight = ".weight";
  const std::string_view module = name.substr(0, name.size() - std::min(name.size(), weight.size()));
  return name.ends_with(weight) && (module.ends_with("centroids") || module.ends_with("codebook")) ? module : name;
}

/// Returns the last part of a name, after the module's name.
std::string leaf_of(std::string_view name) {
  name = without_format(name);
  return lower_case(name.substr(name.find_last_of(separators) + 1));
}

/// Returns the module's name including its separator; empty at the root.
std::string module_of(const std::string& name) {
  const std::string_view whole = without_format(name);
  return name.substr(0, whole.find_last_of(separators) + 1);
}

bool is_table_word(std::string_view leaf) {
  constexpr std::array<std::string_view, 6> parts{"quant_map", "qmap",         "quant_state",
                                                  "codebook",  "lookup_table", "centroids"};
  return holds_any(leaf, parts);
}

bool is_scale_word(std::string_view leaf) {
  constexpr std::array<std::string_view, 9> parts{"scale", "scaling_factor", "zero_point",   "zeros",      "absmax",
                                                  "amax",  "weight_offset",  "input_offset", "weight_bias"};
  constexpr std::array<std::string_view, 13> words{"scb", "zero", "zp",  "azp", "g_idx",  "s",    "z",
                                                   "su",  "sv",   "suh", "svh", "smooth", "alpha"};
  return holds_any(leaf, parts) || std::find(words.begin(), words.end(), leaf) != words.end() ||
         leaf.ends_with("_zp") || leaf.ends_with("_azp");
}

/// Returns whether a name is one that only such tensors have.
bool is_unambiguous(const std::string& name, std::string_view leaf) {
  constexpr std::array<std::string_view, 17> parts{
      "scale_inv",    "scale_fwd",    "scale_bwd", "weight_scale", "input_scale", "output_scale",
      "global_scale", "qzeros",       "absmax",    "quant_map",    "qmap",        "quant_state",
      "qscale",       "amax_history", "weight_zp", "input_zp",     "smooth_scale"};
  constexpr std::array<std::string_view, 5> zeros{"weight_zero_point", "input_zero_point", "weight_offset",
                                                  "input_offset", "dequant_scale"};
  constexpr std::array<std::string_view, 4> factors{"weights_scaling_factor", "activation_scaling_factor",
                                                    "prequant_scaling_factor", "kv_cache_scaling_factor"};
  if (holds_any(leaf, parts) || holds_any(leaf, zeros) || holds_any(leaf, factors) || leaf == "scb" || leaf == "azp")
    return true;
  return (name.find("quantizer") != std::string::npos || name.find("fake_quant") != std::string::npos) &&
         is_scale_word(leaf);
}

/// Returns whether a name is that of a scale of the attention's inputs, which belongs to the module above the codes, or
/// beside theirs.
bool is_of_attention(std::string_view leaf) {
  return leaf == "k_scale" || leaf == "v_scale" || leaf == "q_scale" || leaf == "kv_scale" || leaf == "prob_scale";
}

/// Returns whether smaller numbers may be packed in its elements.
bool may_pack(const Tensor& tensor) {
  const bool is_integer =
      tensor.dtype.kind == ElementKind::signed_integer || tensor.dtype.kind == ElementKind::unsigned_integer;
  const bool has_size = tensor.dtype.size <= 4 || tensor.name.ends_with("Qidxs");  // the latter: QuIP#'s, of 64 bits
  return is_integer && has_size && !tensor.shape.empty() && !tensor.verbatim;
}

bool is_packed_word(std::string_view leaf) {
  constexpr std::array<std::string_view, 8> parts{"weight", "packed", "blocks", "codes",
                                                  "qdata",  "w_q",    "kernel", "trellis"};
  constexpr std::array<std::string_view, 7> words{"cb", "_data", "int_data", "b", "q", "qidxs", "indices"};
  return (holds_any(leaf, parts) || std::find(words.begin(), words.end(), leaf) != words.end()) &&
         !is_scale_word(leaf) && !is_table_word(leaf);
}

/// Returns whether the dtype alone shows that it holds codes.
bool is_small_float(const DType& dtype) {
  if (is_fp8(dtype)) return true;
  return dtype.kind == ElementKind::other && std::ranges::any_of(moved_types, [&](const MovedType& each) {
           return each.holds_codes && dtype.name == each.name;
         });
}

class Ties {
 public:
  void add(const Tensor& tensor) {
    const std::string leaf = leaf_of(tensor.name);
    // NVFP4's scales are 8-bit floats, too.
    const bool is_code = is_small_float(tensor.dtype) && !is_scale_word(leaf);
    if (is_code || may_pack(tensor)) named_.insert(tensor.name);
    if (is_code || (may_pack(tensor) && is_packed_word(leaf))) {
      codes_.insert(tensor.name);
      of_module_.try_emplace(module_of(tensor.name), tensor.name);
    }
  }

  std::optional<NumberTie> of(const Tensor& tensor) const {
    const std::string leaf = leaf_of(tensor.name);
    const bool is_table = is_table_word(leaf);
    if (is_table || is_scale_word(leaf)) {
      std::string codes = codes_for(tensor.name, leaf);
      if (!codes.empty() || is_unambiguous(tensor.name, leaf) || (is_of_attention(leaf) && !codes_.empty()))
        return NumberTie{is_table ? Role::table : Role::scale, std::move(codes)};
    }
    if (tensor.dtype.name == "f8_e8m0") return NumberTie{Role::scale, codes_for(tensor.name, leaf)};
    if (is_small_float(tensor.dtype)) return NumberTie{};
    return std::nullopt;
  }

 private:
  /// Returns the tensor that a scale or table belongs to: by its own name without the end, or in its module.
  std::string codes_for(const std::string& name, const std::string& leaf) const {
    const std::string module = module_of(name);
    if (!module.empty() && named_.contains(module.substr(0, module.size() - 1)))
      return module.substr(0, module.size() - 1);
    for (std::size_t end = name.rfind('_'); end != std::string::npos && end > module.size();
         end = name.rfind('_', end - 1))
      for (const char* ending : {"", "_packed", "_blocks", "_q", "_quantized", "_qdata", ".weight"})
        if (std::string stem = name.substr(0, end) + ending; stem != name && named_.contains(stem)) return stem;
    if (const auto found = of_module_.find(module); found != of_module_.end()) return found->second;
    if (!is_of_attention(leaf)) return "";
    for (const std::string& above : {module, module_of(module.substr(0, module.empty() ? 0 : module.size() - 1))})
      if (const auto below = codes_.lower_bound(above);
          !above.empty() && below != codes_.end() && below->starts_with(above))
        return *below;
    return "";
  }

  std::set<std::string> named_;  // tensors that may hold codes if a scale has their name
  std::set<std::string> codes_;
  std::map<std::string, std::string> of_module_;  // the first codes in each module
};

}  // namespace

std::vector<std::optional<NumberTie>> number_ties(const std::vector<Tensor>& tensors,
                                                  const std::vector<Tensor>& beside) {
  Ties ties;
  for (const std::vector<Tensor>* all : {&tensors, &beside})
    for (const Tensor& tensor : *all) ties.add(tensor);
  std::vector<std::optional<NumberTie>> found;
  found.reserve(tensors.size());
  for (const Tensor& tensor : tensors) found.push_back(ties.of(tensor));
  return found;
}

}  // namespace ckpt
