#include "layout/placement/quantised_weights.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "base/checked.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "layout/placement/number_ties.hpp"

namespace ckpt {

namespace {

using Form = QuantisedWeight::Form;

constexpr std::uint64_t codes_in_word = 8;
constexpr std::pair<std::uint64_t, std::uint64_t> square_block{128, 128};  // DeepSeek's
constexpr std::uint64_t mx_block = 32;                                     // of all Microscaling formats
constexpr std::uint64_t nvfp4_block = 16;

/// Words of codes are read as little-endian.
bool is_integer(const DType& dtype, std::uint64_t size) {
  return (dtype.kind == ElementKind::signed_integer || dtype.kind == ElementKind::unsigned_integer) &&
         dtype.size == size && dtype.order == ByteOrder::little;
}

bool is_byte(const DType& dtype) {
  return dtype.kind == ElementKind::unsigned_integer && dtype.size == 1;
}

/// E8M0 has a type of its own in some files; others have bytes.
bool is_e8m0(const DType& dtype) {
  return dtype.name == "f8_e8m0" || is_byte(dtype);
}

bool is_wide_float(const DType& dtype) {
  return dtype.is_float() && dtype.size >= 2;
}

std::string without(const std::string& name, std::string_view ending) {
  return name.substr(0, name.size() - ending.size());
}

/// Throws input for a list other than two sizes. Some quantisers write null, or a word for a sparse structure.
void take_block(const nlohmann::json& object, const char* key, const std::string& origin, QuantisationConfig& config) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return;
  const auto is_size = [](const nlohmann::json& size) { return size.is_number_unsigned() && size != 0; };
  if (found->size() != 2 || !std::ranges::all_of(*found, is_size))
    throw Error(Kind::input, origin,
                {std::string(key) + " is " + found->dump(), "rows and columns of a block, as [128, 128]", ""});
  config.block = {(*found)[0].get<std::uint64_t>(), (*found)[1].get<std::uint64_t>()};
}

void take_text(const nlohmann::json& object, const char* key, std::string& text) {
  if (const auto found = object.find(key); found != object.end() && found->is_string())
    text = found->get<std::string>();
}

/// Whether scales have in each dimension as many elements as the codes, or one; and the blocks that they make then.
std::optional<Shape> spread_block(const Shape& codes, const Shape& scales) {
  Shape block = codes;
  for (std::uint64_t& size : block) size = std::max<std::uint64_t>(size, 1);
  if (numel(scales) == 1) return block;
  if (scales.size() == 1 && codes.size() == 2 && scales[0] == codes[0]) {
    block[0] = 1;
    return block;
  }
  if (scales.size() != codes.size()) return std::nullopt;
  for (std::size_t d = 0; d < codes.size(); ++d) {
    if (scales[d] == codes[d])
      block[d] = 1;
    else if (scales[d] != 1)
      return std::nullopt;
  }
  return block;
}

/// The shape of scales for blocks in the last two dimensions of codes, the last of which may be short.
Shape scales_of(const Shape& codes, std::pair<std::uint64_t, std::uint64_t> block) {
  Shape scales = codes;
  const std::size_t rank = codes.size();
  if (rank > 1) scales[rank - 2] = ceil_div(codes[rank - 2], block.first);
  scales[rank - 1] = ceil_div(codes[rank - 1], block.second);
  return scales;
}

Shape block_of(const Shape& codes, std::pair<std::uint64_t, std::uint64_t> block) {
  Shape shape(codes.size(), 1);
  if (codes.size() > 1) shape[codes.size() - 2] = block.first;
  shape[codes.size() - 1] = block.second;
  return shape;
}

std::string block_text(std::pair<std::uint64_t, std::uint64_t> block) {
  return std::to_string(block.first) + " x " + std::to_string(block.second);
}

class Finder {
 public:
  Finder(const std::vector<Tensor>& tensors, const QuantisationConfig& config, const TextOf& text_of)
      : tensors_(tensors), config_(config), text_of_(text_of) {
    for (const Tensor& tensor : tensors) by_name_.emplace(tensor.name.str(), &tensor);
  }

  QuantisedWeights all() {
    using Try = bool (Finder::*)(const Tensor&);
    // Scales of NVFP4 are floats of 8 bits themselves.
    for (const Try attempt : {&Finder::find_words, &Finder::find_mxfp4, &Finder::find_bitsandbytes, &Finder::find_int8,
                              &Finder::find_e2m1, &Finder::find_fp8})
      for (const Tensor& tensor : tensors_) {
        if (tensor.verbatim || tensor.shape.empty() || taken_.contains(tensor.name)) continue;
        try {
          (this->*attempt)(tensor);
        } catch (const Error& error) {
          found_.problems.emplace_back(tensor.name.str(), error);
          taken_.insert(tensor.name);
        }
      }
    std::sort(found_.weights.begin(), found_.weights.end(),
              [](const auto& a, const auto& b) { return a.codes < b.codes; });
    look_at_rest();
    return std::move(found_);
  }

 private:
  const Tensor* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  /// Throws input if it is not there: codes and scales mean nothing alone.
  const Tensor& needed(const Tensor& codes, const std::string& name) {
    if (const Tensor* const found = find(name)) return *found;
    found_.incomplete.push_back("'" + codes.name.str() + "' without '" + name + "'");
    throw Error(Kind::input, object(codes), {"'" + name + "', which belongs to it, is not there", "both", ""});
  }

  static std::string object(const Tensor& tensor) { return "parameter '" + tensor.name.str() + "'"; }

  [[noreturn]] static void refuse_shape(const Tensor& codes, const Tensor& other, const std::string& expected) {
    throw Error(Kind::input, object(codes),
                {"'" + other.name.str() + "' is " + other.dtype.name.str() + " " + to_string(other.shape), expected,
                 "does config.json say what it is?"});
  }

  void add(QuantisedWeight weight) {
    weight.for_each_tensor([&](const std::string& name) { taken_.insert(name); });
    found_.weights.push_back(std::move(weight));
  }

  // ---- families

  bool find_fp8(const Tensor& codes) {
    if (!is_fp8(codes.dtype)) return false;
    const std::string& name = codes.name;
    std::vector<std::string> names{name + "_scale_inv", name + "_scale"};
    if (name.ends_with(".weight")) names.push_back(without(name, "weight") + "scale");
    const auto scales = std::find_if(names.begin(), names.end(), [&](const auto& each) { return find(each); });
    if (scales == names.end()) return false;
    const Tensor& scale = *find(*scales);
    QuantisedWeight weight;
    weight.name = name;
    weight.shape = codes.shape;
    weight.codes = name;
    weight.scales = *scales;
    find_blocks(codes, scale, weight);
    add(std::move(weight));
    return true;
  }

  void find_blocks(const Tensor& codes, const Tensor& scale, QuantisedWeight& weight) const {
    const Shape& shape = codes.shape;
    if (!is_wide_float(scale.dtype) && !is_e8m0(scale.dtype)) refuse_shape(codes, scale, "scales that are floats");
    using Block = std::pair<std::uint64_t, std::uint64_t>;
    const std::vector<Block> known =
        config_.block ? std::vector<Block>{*config_.block} : std::vector<Block>{square_block, {1, mx_block}};
    const auto take_block = [&] {
      const auto block = std::find_if(known.begin(), known.end(),
                                      [&](const Block& each) { return scale.shape == scales_of(shape, each); });
      if (block == known.end()) return false;
      weight.block = weight.unit = block_of(shape, *block);
      weight.what =
          *block == Block{1, mx_block} && is_e8m0(scale.dtype) ? "MXFP8" : "fp8 in blocks of " + block_text(*block);
      return true;
    };
    // One scale of two dimensions may be that of a short block.
    const bool has_blocks = config_.block || weight.scales != weight.name + "_scale" || is_e8m0(scale.dtype);
    if (has_blocks && take_block()) return;
    if (auto spread = spread_block(shape, scale.shape)) {
      weight.block = std::move(*spread);
      weight.what = numel(scale.shape) == 1 ? "fp8 by tensor" : "fp8 by channel";
      weight.unit = Shape(shape.size(), 1);
      return;
    }
    if (take_block()) return;
    refuse_shape(codes, scale,
                 to_string(scales_of(shape, known.front())) + ", by blocks of " + block_text(known.front()) + " of " +
                     to_string(codes.shape));
  }

  bool find_e2m1(const Tensor& codes) {
    if (!is_byte(codes.dtype) && codes.dtype.name != "f4_e2m1x2") return false;
    const std::string& name = codes.name;
    constexpr std::string_view packed = "_packed";  // compressed-tensors
    const std::string base = name.ends_with(packed) ? without(name, packed) : name;
    if (const Tensor* const swizzled = find(base + "_sf"))
      throw Error(Kind::input, object(codes),
                  {"'" + swizzled->name.str() + "' has its scales in a kernel's own order",
                   "scales in the order of the "
                   "weight",
                   "save the model before it is prepared for a kernel"});
    const Tensor* const scales = find(base + "_scale");
    if (scales == nullptr || (codes.dtype.name != "f4_e2m1x2" && !base.ends_with("weight") && base == name))
      return false;
    const bool is_nvfp4 = scales->dtype.kind == ElementKind::f8_e4m3;
    if (!is_nvfp4 && !is_e8m0(scales->dtype)) return false;
    QuantisedWeight weight;
    weight.name = base;
    weight.what = is_nvfp4 ? "NVFP4" : "MXFP4";
    weight.shape = codes.shape;
    std::uint64_t& last = weight.shape[codes.shape.size() - 1];
    last = checked_mul(last, 2, "a weight");
    weight.codes = name;
    weight.scales = scales->name;
    weight.packing = CodePacking::low_half_first;
    weight.is_e2m1 = true;
    const std::pair<std::uint64_t, std::uint64_t> block{1, is_nvfp4 ? nvfp4_block : mx_block};
    if (scales->shape != scales_of(weight.shape, block))
      refuse_shape(codes, *scales,
                   to_string(scales_of(weight.shape, block)) + ", one for " + std::to_string(block.second) +
                       " numbers, in the order of the weight");
    weight.block = weight.unit = block_of(weight.shape, block);
    if (is_nvfp4) {
      weight.divides_by_factor = find(base + "_scale_2") == nullptr;
      const Tensor& factor = needed(codes, base + (weight.divides_by_factor ? "_global_scale" : "_scale_2"));
      if (!is_wide_float(factor.dtype) || numel(factor.shape) != 1) refuse_shape(codes, factor, "one float");
      weight.factor = factor.name;
    }
    add(std::move(weight));
    return true;
  }

  bool find_mxfp4(const Tensor& codes) {
    constexpr std::string_view blocks = "_blocks";
    if (!is_byte(codes.dtype) || !codes.name.ends_with(blocks)) return false;
    const std::string base = without(codes.name, blocks);
    const Tensor& scales = needed(codes, base + "_scales");
    const Shape& shape = codes.shape;
    if (shape.size() != 4 || shape[3] * 2 != mx_block)
      throw Error(Kind::input, object(codes),
                  {"it is " + to_string(codes.shape), "[experts, outputs, inputs / 32, 16] of MXFP4", ""});
    if (!is_e8m0(scales.dtype) || scales.shape != Shape{shape[0], shape[1], shape[2]})
      refuse_shape(codes, scales, "a byte for each 32 numbers");
    QuantisedWeight weight;
    weight.name = base;
    weight.form = Form::mxfp4;
    weight.what = "MXFP4";
    weight.shape = {shape[0], checked_mul(shape[2], mx_block, "a weight"), shape[1]};
    weight.block = weight.unit = {1, mx_block, 1};
    weight.codes = codes.name;
    weight.scales = scales.name;
    weight.packing = CodePacking::low_half_first;
    weight.is_e2m1 = true;
    add(std::move(weight));
    return true;
  }

  /// GPTQ and AWQ, which have eight codes in a word.
  bool find_words(const Tensor& codes) {
    constexpr std::string_view ending = "qweight";
    if (!is_integer(codes.dtype, 4) || codes.shape.size() != 2 || !codes.name.ends_with(ending)) return false;
    const std::string base = without(codes.name, ending);
    const Tensor& scales = needed(codes, base + "scales");
    const Tensor& zeros = needed(codes, base + "qzeros");
    if (!is_wide_float(scales.dtype) || scales.shape.size() != 2)
      refuse_shape(codes, scales, "[groups, outputs] of floats");
    QuantisedWeight weight;
    weight.name = base + "weight";
    const std::uint64_t outputs = scales.shape[1];
    const bool is_gptq = codes.shape[1] == outputs;
    if (config_.bits.value_or(4) != 4 || (!is_gptq && checked_mul(codes.shape[1], codes_in_word) != outputs))
      throw Error(Kind::input, object(codes),
                  {"it is " + to_string(codes.shape) + " with " + std::to_string(outputs) + " outputs" +
                       (config_.bits ? ", of " + std::to_string(*config_.bits) + " bits" : ""),
                   "[inputs / 8, outputs] as GPTQ or [inputs, outputs / 8] as AWQ has codes of 4 bits", ""});
    if (!is_gptq && !config_.version.empty() && config_.version != "gemm")
      throw Error(Kind::input, object(codes), {"it is packed for AWQ's version " + config_.version, "gemm", ""});
    const std::uint64_t inputs = is_gptq ? checked_mul(codes.shape[0], codes_in_word, "a weight") : codes.shape[0];
    weight.form = is_gptq ? Form::gptq : Form::awq;
    weight.what = is_gptq ? "GPTQ" : "AWQ";
    weight.shape = {outputs, inputs};
    weight.codes = codes.name;
    weight.scales = scales.name;
    weight.zeros = zeros.name;
    weight.stored_less = is_gptq && config_.format != "gptq_v2" ? 1 : 0;
    if (!is_integer(zeros.dtype, 4) || zeros.shape != Shape{scales.shape[0], ceil_div(outputs, codes_in_word)})
      refuse_shape(codes, zeros, "words of 8 zero points for each of " + std::to_string(scales.shape[0]) + " groups");
    const Tensor* const groups = !is_gptq               ? nullptr
                                 : config_.is_reordered ? &needed(codes, base + "g_idx")
                                                        : find(base + "g_idx");
    if (groups != nullptr) {
      if (!is_integer(groups->dtype, 4) || groups->shape != Shape{inputs})
        refuse_shape(codes, *groups, "the group of each input");
      weight.groups = groups->name;
    }
    weight.block = {1, group_of(codes, scales, inputs, groups != nullptr)};
    weight.unit = {codes_in_word, weight.block[1]};
    add(std::move(weight));
    return true;
  }

  std::uint64_t group_of(const Tensor& codes, const Tensor& scales, std::uint64_t inputs, bool has_groups) const {
    const std::uint64_t count = scales.shape[0];
    std::uint64_t group = config_.group.value_or(count != 0 && inputs % count == 0 ? inputs / count : 0);
    if (config_.group && group == 0) group = std::max<std::uint64_t>(inputs, 1);
    if (group != 0 && (has_groups || ceil_div(inputs, group) == count)) return group;
    if (has_groups) return 1;
    refuse_shape(codes, scales,
                 std::to_string(inputs) + " inputs in groups" + (config_.group ? " of " + std::to_string(group) : "") +
                     ", with scales for each");
  }

  bool find_bitsandbytes(const Tensor& codes) {
    if (!is_byte(codes.dtype)) return false;
    const std::string state_begin = codes.name.str() + ".quant_state.";
    const auto state = by_name_.lower_bound(state_begin);
    if (state == by_name_.end() || !state->first.starts_with(state_begin)) return false;
    QuantisedWeight weight;
    weight.name = codes.name;
    weight.form = Form::bitsandbytes;
    weight.what = "bitsandbytes 4-bit";
    weight.codes = codes.name;
    weight.scales = needed(codes, weight.name + ".absmax").name;
    weight.numbers = needed(codes, weight.name + ".quant_map").name;
    weight.packing = CodePacking::high_half_first;
    weight.others.push_back(state->first);
    taken_.insert(state->first);
    if (!is_wide_float(find(weight.scales)->dtype)) {
      weight.outer_scales = needed(codes, weight.name + ".nested_absmax").name;
      weight.outer_numbers = needed(codes, weight.name + ".nested_quant_map").name;
    }
    if (text_of_) read_state(codes, text_of_(state->first), state->first, weight);
    add(std::move(weight));
    return true;
  }

  void read_state(const Tensor& codes, const std::string& text, const std::string& name,
                  QuantisedWeight& weight) const {
    const auto json = parse_json(text, name, {Kind::input, "bitsandbytes' description of a weight", ""});
    const auto number = [&](const char* key) {
      const auto found = json.find(key);
      return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
    };
    const auto refuse = [&](const std::string& found, const std::string& expected) {
      throw Error(Kind::input, object(codes), {"'" + name + "' says " + found, expected, ""});
    };
    const auto shape = json.find("shape");
    if (shape == json.end() || !shape->is_array() || shape->empty()) refuse("no shape", "the weight's");
    for (const auto& size : *shape) {
      if (!size.is_number_unsigned()) refuse("a shape of other than numbers", "the weight's");
      weight.shape.push_back(size.get<std::uint64_t>());
    }
    const std::uint64_t elements = numel(weight.shape);
    const std::uint64_t block = number("blocksize");
    if (block == 0) refuse("no blocksize", "one");
    weight.block = Shape{block};
    weight.unit = weight.shape;
    const auto check = [&](const std::string& tensor, std::uint64_t count, bool is_float) {
      const Tensor& found = *find(tensor);
      if (numel(found.shape) != count || (is_float ? !is_wide_float(found.dtype) : !is_byte(found.dtype)))
        refuse_shape(
            codes, found,
            std::to_string(count) + (is_float ? " floats" : " bytes") + " for a weight of " + to_string(weight.shape));
    };
    check(weight.codes, ceil_div(elements, 2), false);
    check(weight.numbers, 16, true);
    const std::uint64_t scales = ceil_div(elements, block);
    check(weight.scales, scales, weight.outer_scales.empty());
    if (weight.outer_scales.empty()) return;
    weight.outer_block = number("nested_blocksize");
    if (weight.outer_block == 0) refuse("no nested_blocksize", "one");
    if (const auto offset = json.find("nested_offset"); offset != json.end() && offset->is_number())
      weight.outer_offset = static_cast<float>(offset->get<double>());
    check(weight.outer_scales, ceil_div(scales, weight.outer_block), true);
    check(weight.outer_numbers, 256, true);
  }

  bool find_int8(const Tensor& codes) {
    constexpr std::string_view ending = "weight";
    if (codes.dtype.kind != ElementKind::signed_integer || codes.dtype.size != 1 || !codes.name.ends_with(ending))
      return false;
    const std::string base = without(codes.name, ending);
    const Tensor* const scales = config_.method == "bitsandbytes" ? &needed(codes, base + "SCB") : find(base + "SCB");
    if (scales == nullptr) return false;
    const Shape& shape = codes.shape;
    if (shape.size() != 2 || !is_wide_float(scales->dtype) || numel(scales->shape) != shape[0])
      refuse_shape(codes, *scales, "a float for each row of " + to_string(codes.shape));
    QuantisedWeight weight;
    weight.name = codes.name;
    weight.what = "bitsandbytes int8";
    weight.shape = shape;
    weight.block = {1, std::max<std::uint64_t>(shape[1], 1)};
    weight.unit = {1, 1};
    weight.codes = codes.name;
    weight.scales = scales->name;
    weight.divisor = 127;
    if (const Tensor* const format = find(base + "weight_format")) {
      weight.others.push_back(format->name);
      taken_.insert(format->name);
    }
    add(std::move(weight));
    return true;
  }

  // ---- what is left

  void look_at_rest() {
    const auto ties = number_ties(tensors_);
    std::map<std::string, std::size_t> by_codes;
    for (std::size_t i = 0; i < found_.weights.size(); ++i) by_codes.emplace(found_.weights[i].codes, i);
    std::set<std::string> told;
    for (const auto& [name, error] : found_.problems) told.insert(name);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      if (!ties[i] || taken_.contains(tensor.name)) continue;
      const std::string& codes = ties[i]->codes;
      if (ties[i]->role == NumberTie::Role::codes) {
        tell(told, tensor, "its " + tensor.dtype.name.str() + " are codes, and there is no scale for them");
        if (has_scaled(tensor.dtype)) found_.incomplete.push_back("'" + tensor.name.str() + "' without a scale");
      } else if (const auto found = by_codes.find(codes); found != by_codes.end() && is_of_activations(tensor.name))
        found_.weights[found->second].others.push_back(tensor.name);
      else if (found != by_codes.end())  // a zero point, or a second scale: the numbers would be others
        tell(told, tensor,
             "it belongs to '" + codes + "', which has nothing of its kind as " + found_.weights[found->second].what);
      else if (!codes.empty())
        tell(told, *find(codes), "'" + tensor.name.str() + "' belongs to it, in no family that is known here");
      else if (is_named_as_scales(tensor.name)) {
        tell(told, tensor, "it belongs to codes that are not there");
        found_.incomplete.push_back("'" + tensor.name.str() + "' without its codes");
      } else
        found_.strays.push_back(tensor.name);
    }
    for (QuantisedWeight& weight : found_.weights)
      if (const Tensor* const shape = find(weight.name + "_shape"); shape != nullptr && is_integer(shape->dtype, 8))
        weight.others.push_back(shape->name);
  }

  /// Whether codes of a dtype have scales in this model: 8-bit floats may be all there is of a number.
  bool has_scaled(const DType& dtype) const {
    return !config_.method.empty() || std::ranges::any_of(found_.weights, [&](const QuantisedWeight& weight) {
      return find(weight.codes)->dtype == dtype;
    });
  }

  void tell(std::set<std::string>& told, const Tensor& tensor, const std::string& found) {
    if (!told.insert(tensor.name).second) return;
    found_.problems.emplace_back(tensor.name.str(),
                                 Error(Kind::input, object(tensor),
                                       {found,
                                        "codes and scales of fp8, MXFP8, MXFP4, NVFP4, GPTQ, AWQ or bitsandbytes",
                                        "what is quantised otherwise can only be moved as it is",
                                        {Advice::What::leave_out, ""}}));
  }

  /// Scales of a layer's inputs and outputs, and of a cache of keys and values: they change no weight.
  static bool is_of_activations(const std::string& name) {
    constexpr std::array<std::string_view, 10> words{
        "input_scale", "input_global_scale", "input_zero_point", "input_amax", "output_scale",
        "output_amax", "act_scale",          "activation_scale", "k_scale",    "v_scale"};
    return std::ranges::any_of(words, [&](std::string_view word) { return name.ends_with(word); });
  }

  const std::vector<Tensor>& tensors_;
  const QuantisationConfig& config_;
  const TextOf& text_of_;
  std::map<std::string, const Tensor*> by_name_;
  std::set<std::string> taken_;
  QuantisedWeights found_;
};

}  // namespace

bool is_named_as_scales(std::string_view name) {
  constexpr std::array<std::string_view, 8> words{"weight_scale", "scale_inv",   "qzeros", "absmax",
                                                  "quant_map",    "quant_state", "SCB",    "weight_zero_point"};
  return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

QuantisationConfig QuantisationConfig::parse(const std::string& text, const std::string& origin) {
  const auto json = parse_json(text, origin, {Kind::input, "a model's config.json", ""});
  QuantisationConfig config;
  if (!json.is_object()) return config;
  auto found = json.find("quantization_config");
  if (found == json.end()) {
    const auto of_text = json.find("text_config");
    if (of_text == json.end() || !of_text->is_object()) return config;
    found = of_text->find("quantization_config");
    if (found == of_text->end()) return config;
  }
  const auto& object = *found;
  if (!object.is_object()) return config;
  take_text(object, "quant_method", config.method);
  take_text(object, "checkpoint_format", config.format);
  take_text(object, "version", config.version);
  config.version = lower_case(config.version);
  take_block(object, "weight_block_size", origin, config);
  if (const auto reordered = object.find("desc_act"); reordered != object.end())
    config.is_reordered = *reordered == true;
  if (const auto bits = object.find("bits"); bits != object.end() && bits->is_number_unsigned())
    config.bits = bits->get<std::uint64_t>();
  if (const auto group = object.find("group_size"); group != object.end() && group->is_number_integer())
    config.group = group->is_number_unsigned() ? group->get<std::uint64_t>() : 0;
  if (const auto groups = object.find("config_groups"); groups != object.end() && groups->is_object())
    for (const auto& [name, group] : groups->items())
      if (const auto weights = group.is_object() ? group.find("weights") : group.end();
          weights != group.end() && weights->is_object())
        take_block(*weights, "block_structure", origin, config);
  return config;
}

std::string QuantisedWeights::summary() const {
  std::map<std::string, std::size_t> counts;
  for (const QuantisedWeight& weight : weights) ++counts[weight.what];
  std::vector<std::string> words;
  for (const auto& [what, count] : counts) words.push_back(std::to_string(count) + " of " + what);
  return join(words);
}

QuantisedWeights quantised_weights(const std::vector<Tensor>& tensors, const QuantisationConfig& config,
                                   const TextOf& text_of) {
  return Finder(tensors, config, text_of).all();
}

}  // namespace ckpt
