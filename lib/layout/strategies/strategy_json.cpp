#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/language/parse_json.hpp"
#include "layout/strategies/strategy.hpp"

namespace ckpt::strategy {

namespace {

using nlohmann::json;

[[noreturn]] void refuse_json(const std::string& object, const std::string& found, const std::string& expected) {
  throw Error(Kind::layout, object, {found, expected, "is it a strategy that MindSpore saved?"});
}

const json& member(const json& object, const char* key) {
  if (!object.is_object()) refuse_json(key, "no object around it", "one");
  const auto found = object.find(key);
  if (found == object.end()) refuse_json(key, "nothing", "this key");
  return *found;
}

std::int64_t whole_number(const json& value, const char* key) {
  if (!value.is_number_integer()) refuse_json(key, value.dump(), "a whole number");
  return value.get<std::int64_t>();
}

std::vector<std::int64_t> numbers(const json& list, const char* key) {
  if (!list.is_array()) refuse_json(key, "no list", "a list of whole numbers");
  std::vector<std::int64_t> values;
  for (const json& value : list) values.push_back(whole_number(value, key));
  return values;
}

std::vector<std::uint64_t> extents(const json& list, const char* key) {
  std::vector<std::uint64_t> values;
  for (const std::int64_t value : numbers(list, key)) {
    if (value < 0) refuse_json(key, std::to_string(value), "no number below 0");
    values.push_back(static_cast<std::uint64_t>(value));
  }
  return values;
}

/// A dimension that is cut over several axes is written as several entries: the first ones contain only their axis,
/// with its size as their extent, and the last one contains the rest.
class Regrouping {
 public:
  Regrouping(const RawLayout& raw, const std::vector<std::int64_t>& flat, const std::vector<std::uint64_t>& shape)
      : raw_(raw), flat_(flat), shape_(shape) {}

  /// Returns whether entry `i` may belong to the same dimension as the one after it.
  bool may_join(std::size_t i) const {
    const auto count = static_cast<std::int64_t>(raw_.devices.size());
    if (i + 1 >= flat_.size() || flat_[i] < 0 || flat_[i] >= count || flat_[i + 1] < 0) return false;
    return shape_[i] == raw_.devices[static_cast<std::size_t>(count - 1 - flat_[i])];
  }

  bool is_clear() const {
    for (std::size_t i = 0; i < flat_.size(); ++i)
      if (may_join(i)) return false;
    return true;
  }

  /// Returns the only way to combine the entries into `rank` dimensions. Throws layout if there are several ways, or
  /// none.
  RawLayout regrouped(std::size_t rank) const {
    std::vector<std::size_t> joints;
    for (std::size_t i = 0; i < flat_.size(); ++i)
      if (may_join(i)) joints.push_back(i);
    const std::size_t wanted = flat_.size() - std::min(rank, flat_.size());
    if (rank > flat_.size() || wanted > joints.size())
      refuse_json("tensor_map", format_list(flat_),
                  "one of " + std::to_string(rank) + " dimensions, as the tensor is stored");
    if (wanted > 0 && wanted < joints.size())
      throw Error(Kind::layout, "tensor_map",
                  {format_list(flat_) + " can be read as several splits of " + std::to_string(rank) + " dimensions",
                   "one that is clear", "JSON does not say which: give the strategy in MindSpore's protobuf form"});
    return joined(wanted > 0 ? joints : std::vector<std::size_t>{});
  }

 private:
  RawLayout joined(const std::vector<std::size_t>& joints) const {
    RawLayout raw = raw_;
    Shape whole;
    for (std::size_t i = 0; i < flat_.size(); ++i) {
      if (i > 0 && std::find(joints.begin(), joints.end(), i - 1) != joints.end()) {
        raw.map.back().push_back(flat_[i]);
        whole[whole.size() - 1] = checked_mul(whole[whole.size() - 1], shape_[i], "tensor_shape");
      } else {
        raw.map.push_back({flat_[i]});
        whole.push_back(shape_[i]);
      }
    }
    // For an uneven split, the file's shape is that of this rank's piece times the number of pieces.
    if (raw.sizes.empty()) raw.shape = whole;
    return raw;
  }

  const RawLayout& raw_;
  const std::vector<std::int64_t>& flat_;
  const std::vector<std::uint64_t>& shape_;
};

RawLayout json_layout(const std::string& name, const json& item, const RankOf& rank_of) {
  RawLayout raw;
  raw.devices = extents(member(item, "dev_matrix"), "dev_matrix");
  if (item.contains("param_split_shape")) raw.sizes = extents(item["param_split_shape"], "param_split_shape");
  raw.fields = static_cast<std::uint64_t>(std::max<std::int64_t>(0, whole_number(member(item, "field"), "field")));
  raw.step = whole_number(member(item, "opt_weight_shard_step"), "opt_weight_shard_step");
  raw.shards = whole_number(member(item, "opt_weight_shard_size"), "opt_weight_shard_size");
  const auto flat = numbers(member(item, "tensor_map"), "tensor_map");
  const auto shape = extents(member(item, "tensor_shape"), "tensor_shape");
  if (raw.fields > 0) return raw;
  if (flat.size() != shape.size())
    refuse_json("tensor_shape", format_list(shape), std::to_string(flat.size()) + " extents, as tensor_map has");
  const Regrouping regrouping(raw, flat, shape);
  if (regrouping.is_clear()) return regrouping.regrouped(flat.size());
  const auto rank = rank_of ? rank_of(name) : std::nullopt;
  if (!rank)
    throw Error(
        Kind::layout, "tensor_map",
        {format_list(flat) + " of " + format_list(shape) + " may be so many dimensions, or fewer cut over several axes",
         "one that is clear", "JSON does not say which: give the strategy in MindSpore's protobuf form"});
  return regrouping.regrouped(*rank);
}

}  // namespace

RawStrategy parse_strategy_json(const StrategyText& strategy, const RankOf& rank_of) {
  const json root = parsing::parse_json(strategy.text, strategy.origin);
  RawStrategy raw;
  if (root.contains("current_stage"))
    raw.times_saved = static_cast<std::uint64_t>(whole_number(root["current_stage"], "current_stage"));
  if (root.contains("parallel_strategy_item"))
    for (const auto& [node, item] : root["parallel_strategy_item"].items()) {
      if (!item.is_object() || !item.contains("stage")) continue;
      const auto stage = static_cast<std::uint64_t>(whole_number(item["stage"], "stage"));
      if (std::find(raw.stages.begin(), raw.stages.end(), stage) == raw.stages.end()) raw.stages.push_back(stage);
    }
  if (!root.contains("parallel_layout_item")) return raw;
  for (const auto& [name, item] : root["parallel_layout_item"].items()) {
    const auto layout = with_context("parameter '" + name + "'",
                                     [&, &name = name, &item = item] { return json_layout(name, item, rank_of); });
    raw.layouts.emplace_back(name, layout);
  }
  return raw;
}

}  // namespace ckpt::strategy
