#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/strategies/strategy.hpp"

namespace ckpt {

namespace {

using strategy::RawLayout;
using strategy::RawStrategy;

constexpr char protobuf_key = '\x08';    // the first field of a strategy: current_stage
constexpr char checkpoint_key = '\x0a';  // the first field of a checkpoint, and of a file of groups

constexpr std::size_t most_device_axes = 64;

[[noreturn]] void refuse_strategy(const std::string& object, const std::string& found, const std::string& expected,
                                  const std::string& remedy = "is the file damaged?") {
  throw Error(Kind::layout, object, {found, expected, remedy});
}

std::uint64_t devices_in(const RawLayout& raw) {
  if (raw.devices.size() > most_device_axes)
    refuse_strategy("dev_matrix", std::to_string(raw.devices.size()) + " axes",
                    "at most " + std::to_string(most_device_axes));
  std::uint64_t count = 1;
  for (const std::uint64_t size : raw.devices) {
    if (size == 0) refuse_strategy("dev_matrix", format_list(raw.devices), "sizes above 0");
    count = checked_mul(count, size, "the number of devices");
  }
  if (count > max_cards) refuse_strategy("dev_matrix", format_list(raw.devices), "at most 1048576 devices");
  return count;
}

/// Returns the axes of each dimension, as indices into the devices' axes.
std::vector<std::vector<std::size_t>> split_of(const RawLayout& raw) {
  std::vector<std::vector<std::size_t>> split;
  std::set<std::size_t> used;
  const auto count = static_cast<std::int64_t>(raw.devices.size());
  for (const auto& entries : raw.map) {
    auto& axes = split.emplace_back();
    for (const std::int64_t entry : entries) {
      if (entry == -1) continue;
      if (entry < -1 || entry >= count)
        refuse_strategy("tensor_map", std::to_string(entry),
                        "-1, or an axis below " + std::to_string(count) + ", as dev_matrix has");
      axes.push_back(static_cast<std::size_t>(count - 1 - entry));
      if (!used.insert(axes.back()).second)
        refuse_strategy("tensor_map", "the axis " + std::to_string(entry) + " twice", "each once");
    }
  }
  if (split.size() > max_rank)
    refuse_strategy("tensor_map", std::to_string(split.size()) + " dimensions", "at most 32");
  return split;
}

ParameterStrategy checked(const RawLayout& raw) {
  ParameterStrategy parameter;
  const std::uint64_t count = devices_in(raw);
  parameter.devices = raw.devices;
  parameter.fields = raw.fields;
  parameter.shape = raw.shape;
  if (raw.fields > 0) return parameter;
  parameter.split = split_of(raw);
  parameter.sizes = raw.sizes;
  if (raw.shape && raw.shape->size() != parameter.split.size())
    refuse_strategy("tensor_shape", to_string(*raw.shape), std::to_string(parameter.split.size()) + " dimensions");
  if (!raw.sizes.empty()) {
    std::uint64_t pieces = 1;
    if (!parameter.split.empty())
      for (const std::size_t axis : parameter.split.front()) pieces *= raw.devices[axis];
    if (raw.sizes.size() != pieces)
      refuse_strategy("param_split_shape", std::to_string(raw.sizes.size()) + " sizes", std::to_string(pieces));
  }
  // The step is a distance between ranks, and 0 if nothing is cut.
  if (raw.step == 0) return parameter;
  if (raw.shards == 0 || raw.shards < -1)
    refuse_strategy("opt_weight_shard_size", std::to_string(raw.shards), "-1, or a number above 0");
  if (parameter.split.empty()) refuse_strategy("opt_weight_shard_size", "a tensor without dimensions", "one to be cut");
  std::uint64_t replicas = count;
  for (const auto& axes : parameter.split)
    for (const std::size_t axis : axes) replicas /= raw.devices[axis];
  parameter.optimizer_shards = raw.shards == -1 ? replicas : std::min(replicas, static_cast<std::uint64_t>(raw.shards));
  return parameter;
}

/// Splits the stage that a merged strategy puts before each name, "1-", from the name; returns nothing if there is
/// none.
std::optional<std::pair<std::uint64_t, std::string>> stage_and_name(const std::string& name) {
  const std::size_t digits = name.find_first_not_of("0123456789");
  constexpr std::size_t most_digits = 7;
  if (digits == 0 || digits == std::string::npos || digits > most_digits || name[digits] != '-') return std::nullopt;
  return std::pair(std::stoull(name.substr(0, digits)), name.substr(digits + 1));
}

bool is_merged(const RawStrategy& raw) {
  const bool all_have = std::all_of(raw.layouts.begin(), raw.layouts.end(), [&](const auto& entry) {
    const auto found = stage_and_name(entry.first);
    return found && std::find(raw.stages.begin(), raw.stages.end(), found->first) != raw.stages.end();
  });
  if (raw.stages.size() > 1 && !all_have)
    refuse_strategy("", "several stages, and names without their number",
                    "names such as 1-" + raw.layouts.front().first, "was it merged by merge_pipeline_strategys?");
  return all_have && (raw.stages.size() > 1 || raw.times_saved == 1);
}

std::vector<StageStrategy> stages_of(const RawStrategy& raw, const std::string& origin) {
  if (raw.layouts.empty())
    refuse_strategy("", "no layout of any parameter", "a strategy that MindSpore saved while it compiled for training",
                    "is it one of operators, or of a job without parallelism?");
  const std::uint64_t lone_stage = raw.stages.empty() ? 0 : raw.stages.front();
  const bool has_prefixes = is_merged(raw);
  std::map<std::uint64_t, StageStrategy> stages;
  for (const auto& [full, layout] : raw.layouts) {
    const auto prefixed = has_prefixes ? stage_and_name(full) : std::nullopt;
    const std::uint64_t stage = prefixed ? prefixed->first : lone_stage;
    if (stage >= max_cards) refuse_strategy("stage", std::to_string(stage), "one below " + std::to_string(max_cards));
    const std::string& name = prefixed ? prefixed->second : full;
    StageStrategy& found = stages[stage];
    found.stage = stage;
    found.origin = origin;
    const auto parameter = with_context("parameter '" + name + "'", [&layout = layout] { return checked(layout); });
    if (!found.parameters.emplace(name, parameter).second)
      refuse_strategy("parameter '" + name + "'", "two layouts of it", "one");
  }
  std::vector<StageStrategy> list;
  for (auto& [number, stage] : stages) list.push_back(std::move(stage));
  return list;
}

bool is_json_strategy(const std::string& text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string::npos && text[start] == '{' && text.find("\"ckpt_layout\"") == std::string::npos &&
         (text.find("\"parallel_layout_item\"") != std::string::npos ||
          text.find("\"parallel_strategy_item\"") != std::string::npos);
}

}  // namespace

bool is_strategy(const std::string& text) {
  return text.starts_with(protobuf_key) || is_json_strategy(text);
}

std::vector<StageStrategy> parse_strategy(const StrategyText& strategy, const RankOf& rank_of) {
  try {
    if (strategy.text.starts_with(checkpoint_key))
      refuse_strategy("", "a checkpoint, or a file of groups", "a strategy, whose file begins with the byte 8",
                      "were the arguments given in another order?");
    if (!is_strategy(strategy.text)) refuse_strategy("", "no strategy", "one of MindSpore, in protobuf or JSON");
    const bool is_protobuf = strategy.text.starts_with(protobuf_key);
    const RankOf of_name = [&](const std::string& name) {
      auto rank = rank_of ? rank_of(name) : std::nullopt;
      const auto prefixed = stage_and_name(name);  // of a merged strategy
      if (!rank && rank_of && prefixed) rank = rank_of(prefixed->second);
      return rank;
    };
    return stages_of(
        is_protobuf ? strategy::parse_protobuf(strategy.text) : strategy::parse_strategy_json(strategy, of_name),
        strategy.origin);
  } catch (Error& error) {
    error.of_kind(Kind::layout).within(strategy.origin);
    throw;
  }
}

}  // namespace ckpt
