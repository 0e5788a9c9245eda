#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "layout/placement/placement.hpp"
#include "tensor/codes.hpp"

namespace ckpt {

/// Whether elements are floats of 8 bits: E4M3 or E5M2.
constexpr bool is_fp8(const DType& dtype) noexcept {
  return dtype.kind == ElementKind::f8_e4m3 || dtype.kind == ElementKind::f8_e5m2;
}

/// The `quantization_config` of a model's config.json.
struct QuantisationConfig {
  std::string method;   ///< "fp8", "gptq", …; empty: it says nothing
  std::string format;   ///< of GPTQ: "gptq", or "gptq_v2", which stores zero points as they are
  std::string version;  ///< of AWQ: "gemm", or other packings
  std::optional<std::pair<std::uint64_t, std::uint64_t>> block;  ///< rows and columns that share a scale
  std::optional<std::uint64_t> group;                            ///< inputs that share a scale; 0: all
  std::optional<std::uint64_t> bits;                             ///< of a code
  bool is_reordered = false;  ///< of GPTQ: groups have inputs from anywhere (desc_act)

  /// Parses a config.json, or its `text_config`. Throws input.
  static QuantisationConfig parse(const std::string& json, const std::string& origin);
};

/// A weight that several tensors hold together: codes, and what turns them into numbers.
struct QuantisedWeight {
  enum class Form {
    blocks,        ///< codes in the weight's order; each block of elements has a scale
    mxfp4,         ///< [e, o, i/32, 16] bytes of E2M1 with a scale for 32; the weight is [e, i, o]
    gptq,          ///< [i/8, o] words of 8 inputs; the weight is [o, i]
    awq,           ///< [i, o/8] words of 8 outputs, in an order of their own; the weight is [o, i]
    bitsandbytes,  ///< as `blocks` of the flattened weight, which is never cut
  };
  std::string name;  ///< of the weight
  Form form = Form::blocks;
  std::string what;  ///< the family's name for the user: "fp8 in blocks of 128 x 128"
  Shape shape;       ///< of the weight
  Shape block;       ///< in each dimension of `shape`, how many elements share a scale (gptq, awq: inputs)
  Shape unit;        ///< a cut must be at multiples of these, or at the end

  // Names of its tensors; empty: the family has no such tensor.
  std::string codes;
  std::string scales;
  std::string factor;        ///< of all scales
  std::string zeros;         ///< of gptq, awq
  std::string groups;        ///< of gptq: the group of each input
  std::string numbers;       ///< the table of what codes stand for
  std::string outer_scales;  ///< of bitsandbytes, where scales are codes themselves
  std::string outer_numbers;
  std::vector<std::string> others;  ///< that mean nothing without it: scales of its inputs, what describes it

  CodePacking packing = CodePacking::bytes;
  bool is_e2m1 = false;            ///< the codes; else by their dtype or `numbers`
  bool divides_by_factor = false;  ///< instead of multiplying
  float divisor = 1;               ///< of the scaled numbers
  std::uint64_t stored_less = 0;   ///< how much less than a zero point is stored
  std::uint64_t outer_block = 1;   ///< scales that share an outer scale
  float outer_offset = 0;          ///< added to the outer scale's product

  /// Calls visit(name) for all of its tensors but `others`.
  template <class Visit>
  void for_each_tensor(Visit visit) const {
    for (const std::string* each : {&codes, &scales, &factor, &zeros, &groups, &numbers, &outer_scales, &outer_numbers})
      if (!each->empty()) visit(*each);
  }
};

/// The quantised weights among tensors.
struct QuantisedWeights {
  std::vector<QuantisedWeight> weights;  ///< in the order of their codes
  /// Tensors that look like parts of a family but belong to none, each with the reason.
  std::vector<std::pair<std::string, Error>> problems;
  /// Which of these surely lack a part of their family: "'l.weight_scale' without its codes".
  std::vector<std::string> incomplete;
  std::vector<std::string> strays;  ///< scales of activations that belong to no weight

  /// Returns "48 of fp8 in blocks of 128 x 128, 2 of MXFP4"; empty if there are none.
  std::string summary() const;
};

/// Whether a name contains a word for a weight's scales, zero points or table of numbers. Names of activations' scales
/// contain no such word.
bool is_named_as_scales(std::string_view name);

/// Returns the text of a tensor of bytes.
using TextOf = std::function<std::string(const std::string& name)>;

/// Finds families by names, dtypes, shapes and what config.json says: fp8 (by block, channel or tensor), MXFP8, MXFP4,
/// NVFP4, GPTQ, AWQ, bitsandbytes. `tensors` have different names. Without `text_of` the shapes of bitsandbytes'
/// weights stay unknown (of rank 0).
QuantisedWeights quantised_weights(const std::vector<Tensor>& tensors, const QuantisationConfig& config,
                                   const TextOf& text_of = {});

}  // namespace ckpt
