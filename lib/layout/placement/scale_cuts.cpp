#include "layout/placement/scale_cuts.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/names/rule_name.hpp"
#include "layout/placement/number_ties.hpp"

namespace ckpt {

namespace {

/// A dimension of codes and one of their scales: each run of `block` codes has `scales` of them.
struct BlockDim {
  std::size_t of_codes = 0;
  std::size_t of_scales = 0;
  std::uint64_t block = 1;
  std::uint64_t scales = 1;
};

std::uint64_t blocks_in(std::uint64_t size, std::uint64_t block) {
  return (size + block - 1) / block;
}

/// Returns the power of two that cuts `codes` into `scales` blocks, the last of which may be short.
std::optional<std::uint64_t> power_of_two(std::uint64_t codes, std::uint64_t scales) {
  const std::uint64_t block = std::bit_ceil(blocks_in(codes, scales));
  return blocks_in(codes, block) == scales ? std::optional(block) : std::nullopt;
}

/// DeepSeek's `weight_scale_inv` has blocks of 128 by 128, whether or not they fill the matrix: 192 rows have two.
std::uint64_t block_of(const std::string& name, std::uint64_t codes, std::uint64_t scales) {
  if (codes % scales == 0 && !name.ends_with("scale_inv")) return codes / scales;
  return power_of_two(codes, scales).value_or(blocks_in(codes, scales));
}

/// Recognises GPTQ's index, which gives the group of each row.
bool is_row_index(const std::string& name) {
  return name.ends_with("g_idx");
}

/// Returns which dimension of the codes each dimension of the scales belongs to.
std::vector<std::pair<std::size_t, std::size_t>> dims_together(const std::string& name, const Shape& codes,
                                                               const Shape& scales) {
  std::vector<std::pair<std::size_t, std::size_t>> dims;
  if (is_row_index(name)) return {{0, 0}};  // it counts packed rows, with any number of columns
  if (scales.size() == codes.size() || scales.size() + 1 == codes.size()) {
    const bool is_row = scales.size() == 1 && codes.size() == 2 && codes[0] != scales[0] && codes[1] == scales[0];
    for (std::size_t d = 0; d < scales.size(); ++d) dims.emplace_back(is_row ? 1 : d, d);
  } else if (scales.size() == 1) {
    for (std::size_t d = 0; d < codes.size() && dims.empty(); ++d)
      if (codes[d] == scales[0]) dims.emplace_back(d, 0);
  }
  return dims;
}

/// Square blocks have one size, even if no side is a multiple of it.
std::optional<std::uint64_t> common_block(const std::vector<BlockDim>& dims, const Shape& codes, const Shape& scales) {
  std::optional<std::uint64_t> block;
  for (const BlockDim& dim : dims) {
    const auto here = power_of_two(codes[dim.of_codes], scales[dim.of_scales]);
    if (!here || (block && block != here)) return std::nullopt;
    block = here;
  }
  return block;
}

std::vector<BlockDim> block_dims(const std::string& name, const Shape& codes, const Shape& scales) {
  std::vector<BlockDim> equal;
  std::vector<BlockDim> in_blocks;
  for (const auto& [c, s] : dims_together(name, codes, scales)) {
    if (scales[s] <= 1 || codes[c] == 0) continue;  // one scale for all
    if (scales[s] >= codes[c]) {
      if (scales[s] % codes[c] == 0) equal.push_back({c, s, 1, scales[s] / codes[c]});
    } else {
      in_blocks.push_back({c, s, block_of(name, codes[c], scales[s]), 1});
    }
  }
  if (in_blocks.size() > 1)
    if (const auto common = common_block(in_blocks, codes, scales))
      for (BlockDim& dim : in_blocks) dim.block = *common;
  equal.insert(equal.end(), in_blocks.begin(), in_blocks.end());
  return equal;
}

using Runs = std::vector<Interval>;

void append(Runs& runs, Interval run) {
  if (run.empty()) return;
  if (!runs.empty() && runs.back().hi == run.lo)
    runs.back().hi = run.hi;
  else
    runs.push_back(run);
}

Runs runs_of(const DimCut& cut, std::uint64_t piece) {
  Runs runs;
  cut.for_each_stored(piece, {0, std::numeric_limits<std::uint64_t>::max()}, [&](const Span& span) {
    if (!span.fill) append(runs, span.logical);
  });
  return runs;
}

/// Returns where a piece of the codes begins or ends within a block; nothing if none does.
std::optional<std::uint64_t> cut_within(const Runs& runs, const BlockDim& dim, std::uint64_t size) {
  for (const Interval& run : runs)
    for (const std::uint64_t at : {run.lo, run.hi})
      if (at % dim.block != 0 && at != size) return at;
  return std::nullopt;
}

bool is_cut(const Sharding& sharding) {
  if (sharding.flat || sharding.bucket || sharding.boxes) return false;
  return std::any_of(sharding.cuts.begin(), sharding.cuts.end(), [](const auto& cut) { return cut->pieces() > 1; });
}

/// The numbers of equal pieces that cut no block: "2, 4, 8"; empty if there are none.
std::string numbers_of_pieces(std::uint64_t size, std::uint64_t block) {
  constexpr std::uint64_t most_pieces = 1024;
  std::vector<std::string> numbers;
  for (std::uint64_t pieces = 2; pieces <= std::min(size / block, most_pieces); ++pieces)
    if (size % (pieces * block) == 0) numbers.push_back(std::to_string(pieces));
  return join(numbers);
}

/// An error in the cut of a scale.
struct CutFault {
  std::string found;  ///< continues "its scales ": "stay whole"
  bool is_whole = false;
  bool is_block = false;   ///< a block is cut
  bool is_common = false;  ///< it belongs to all codes, and not every card has it
  std::string fits = {};   ///< how many pieces would not cut a block: "2, 4, 8"
};

CutFault cut_common() {
  return {.found = "is cut, although all of it belongs to each of its codes", .is_common = true};
}

class ScaleCut {
 public:
  ScaleCut(const Placement& placement, ParameterId codes, ParameterId scales)
      : placement_(placement),
        codes_(placement.shardings()[codes]),
        scales_(placement.shardings()[scales]),
        codes_tensor_(placement.tensors()[codes]),
        scales_tensor_(placement.tensors()[scales]) {}

  std::optional<CutFault> fault() const {
    if (!is_plain(codes_) || !is_plain(scales_)) return std::nullopt;
    const Shape& codes = codes_tensor_.shape;
    for (std::size_t d = 0; d < scales_tensor_.shape.size(); ++d)
      if (scales_tensor_.shape[d] == 1 && !axes(scales_, d).empty() && (d >= codes.size() || codes[d] > 1))
        return cut_common();
    for (const BlockDim& dim : block_dims(scales_tensor_.name, codes_tensor_.shape, scales_tensor_.shape))
      if (auto found = fault_in(dim)) return found;
    return std::nullopt;
  }

  /// Two cuts with equal keys have the same error.
  auto key() const {
    const auto cuts = [](const Sharding& sharding) {
      std::vector<const DimCut*> all;
      for (const auto& cut : sharding.cuts) all.push_back(cut.get());
      return all;
    };
    return std::tuple(is_row_index(scales_tensor_.name), cuts(codes_), codes_.axes, cuts(scales_), scales_.axes);
  }

 private:
  static bool is_plain(const Sharding& sharding) {
    return !sharding.flat && !sharding.bucket && sharding.boxes == nullptr;
  }

  /// Returns the axes that cut: an axis of one card does not.
  std::vector<Axis> axes(const Sharding& sharding, std::size_t dim) const {
    std::vector<Axis> found;
    for (const Axis axis : sharding.axes[dim])
      if (placement_.mesh().shape[axis] > 1) found.push_back(axis);
    return found;
  }

  std::string names_of(const std::vector<Axis>& axes) const {
    std::vector<std::string> names;
    for (const Axis axis : axes) names.push_back(placement_.mesh().axes[axis]);
    return join(names);
  }

  std::optional<CutFault> fault_in(const BlockDim& dim) const {
    const std::vector<Axis> of_codes = axes(codes_, dim.of_codes);
    const std::vector<Axis> of_scales = axes(scales_, dim.of_scales);
    const std::string where = " in dimension " + std::to_string(dim.of_codes);
    if (of_codes.empty() && of_scales.empty()) return std::nullopt;
    if (of_scales.empty()) {
      const bool is_whole = !is_cut(scales_);
      return CutFault{(is_whole ? "is whole" : "is not cut there") + std::string(", while '") + codes_tensor_.name +
                          "', which it scales, is cut over " + names_of(of_codes) + where,
                      is_whole};
    }
    if (of_codes != of_scales)
      return CutFault{"is cut over " + names_of(of_scales) + ", while '" + codes_tensor_.name +
                      "', which it scales, is " + (of_codes.empty() ? "whole" : "cut over " + names_of(of_codes)) +
                      where};
    const DimCut& codes = *codes_.cuts[dim.of_codes];
    const DimCut& scales = *scales_.cuts[dim.of_scales];
    for (std::uint64_t piece = 0; piece < codes.pieces(); ++piece) {
      const Runs runs = runs_of(codes, piece);
      if (const auto at = cut_within(runs, dim, codes.size()))
        return CutFault{.found = "has one scale for " + std::to_string(dim.block) + " elements of '" +
                                 codes_tensor_.name + "', which is cut at " + std::to_string(*at) + where,
                        .is_block = true,
                        .fits = numbers_of_pieces(codes.size(), dim.block)};
      Runs wanted;
      for (const Interval& run : runs)
        append(wanted, {run.lo / dim.block * dim.scales, blocks_in(run.hi, dim.block) * dim.scales});
      if (wanted != runs_of(scales, piece))
        return CutFault{"is cut at other places than '" + codes_tensor_.name + "', which it scales," + where};
    }
    return std::nullopt;
  }

  const Placement& placement_;
  const Sharding& codes_;
  const Sharding& scales_;
  const Tensor& codes_tensor_;
  const Tensor& scales_tensor_;
};

/// Checks a table, which applies to all codes or describes all of them: neither may be cut.
std::optional<CutFault> table_fault(const Placement& placement, ParameterId codes, ParameterId table) {
  if (is_cut(placement.shardings()[table])) return cut_common();
  const std::string& name = placement.tensors()[table].name;
  if (name.find("quant_state") == std::string::npos || !is_cut(placement.shardings()[codes])) return std::nullopt;
  return CutFault{"says the shape of all of '" + placement.tensors()[codes].name + "', which is cut"};
}

/// Caches the results for tensors that are cut alike.
class Faults {
 public:
  explicit Faults(const Placement& placement) : placement_(placement) {}

  std::optional<CutFault> of(ParameterId codes, ParameterId other, NumberTie::Role role) {
    if (role == NumberTie::Role::table) return table_fault(placement_, codes, other);
    const ScaleCut cut(placement_, codes, other);
    if (const auto key = cut.key(); !sound_.contains(key)) {
      auto found = cut.fault();
      if (!found) sound_.insert(key);
      return found;
    }
    return std::nullopt;
  }

 private:
  const Placement& placement_;
  std::set<decltype(std::declval<ScaleCut>().key())> sound_;
};

[[noreturn]] void refuse(const Placement& target, ParameterId parameter, const CutFault& fault) {
  const auto rule = target.shardings()[parameter].rule;
  const std::string decided = rule ? rule_name(target.layout(), *rule) : "no rule";
  throw Error(
      Kind::layout, target.layout().origin + ": parameter '" + target.tensors()[parameter].name + "'",
      {fault.found + " (" + decided + " matches it)",
       fault.is_common ? "all of it on each card" : "both cut alike, at multiples of the block",
       fault.is_common
           ? "give it a rule of its own, above: {\"name\": \"" + target.tensors()[parameter].name + "\", \"split\": []}"
           : (fault.fits.empty() ? "give both one rule and sizes that fit, or leave both whole"
                                 : "give both one rule; " + fault.fits + " equal pieces cut no block") +
                 (fault.is_block ? "; --dequantize bf16 cuts anywhere" : "")});
}

}  // namespace

std::vector<std::string> check_scale_cuts(const Placement& target, const Placement& source,
                                          const std::vector<ParameterId>& source_of) {
  const std::vector<Tensor>& tensors = target.tensors();
  if (target.mesh().size() == 1) return {};
  const auto ties = number_ties(tensors);
  Faults of_target(target);
  Faults of_source(source);
  std::vector<std::string> told;
  for (ParameterId parameter = 0; parameter < tensors.size(); ++parameter) {
    if (!ties[parameter] || ties[parameter]->codes.empty()) continue;
    const auto codes = target.find(ties[parameter]->codes);
    if (!codes) continue;
    const auto fault = of_target.of(*codes, parameter, ties[parameter]->role);
    if (!fault) continue;
    const bool is_meant = fault->is_whole && target.shardings()[parameter].rule.has_value();
    if (!is_meant && !of_source.of(source_of[*codes], source_of[parameter], ties[parameter]->role))
      refuse(target, parameter, *fault);
    told.push_back("'" + tensors[parameter].name + "' " + fault->found);
  }
  if (told.empty()) return {};
  return {"scales that are not cut with what they scale: " + join(told, 3) +
          ": a card's numbers mean something only with all of both"};
}

void check_whole_units(const Placement& placement, const std::map<std::string, Shape>& units) {
  for (const auto& each : units) {
    const std::string& name = each.first;  // clang 15 lets no lambda have a structured binding
    const Shape& unit = each.second;
    const auto parameter = placement.find(name);
    if (!parameter || placement.mesh().size() == 1) continue;
    const Shape& shape = placement.tensors()[*parameter].shape;
    if (numel(shape) == 0 || shape.size() != unit.size()) continue;
    placement.for_each_shard(*parameter, whole(shape), [&](Position, const Region& region) {
      for (std::size_t d = 0; d < shape.size(); ++d)
        for (const std::uint64_t at : {region.box.lo[d], region.box.hi[d]})
          if (at % unit[d] != 0 && at != shape[d])
            throw Error(Kind::layout, placement.layout().origin + ": parameter '" + name + "'",
                        {"it is cut at " + std::to_string(at) + " in dimension " + std::to_string(d) +
                             ", within a block of " + std::to_string(unit[d]) + " that share a scale",
                         "cuts at multiples of " + std::to_string(unit[d]),
                         "where each card has quantised its own piece, no layout says so: these weights can only be "
                         "moved as they are"});
    });
  }
}

}  // namespace ckpt
