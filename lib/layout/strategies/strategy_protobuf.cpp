#include <algorithm>

#include "base/error.hpp"
#include "base/protobuf.hpp"
#include "layout/strategies/strategy.hpp"

// https://gitee.com/mindspore/mindspore/blob/master/mindspore/ccsrc/utils/node_strategy.proto
namespace ckpt::strategy {

namespace {

using protobuf::Field;
using protobuf::Range;
using protobuf::Reader;

constexpr std::uint64_t most_name_bytes = 1U << 16;
constexpr std::size_t most_entries = 1U << 20;

enum MapField : std::uint64_t { current_stage = 1, strategy_item = 2, layout_item = 3 };
enum ItemField : std::uint64_t { item_name = 1, item_value = 2 };
enum LayoutField : std::uint64_t {
  dev_matrix = 1,
  tensor_map = 2,
  param_split_shape = 3,
  indices_offset = 4,
  field_size = 5,
  opt_weight_shard_step = 6,
  opt_weight_shard_size = 7,
};
constexpr std::uint64_t strategy_stage = 1;

class StrategyReader {
 public:
  explicit StrategyReader(const std::string& text) : reader_(text), all_{0, text.size()} {}

  RawStrategy read() {
    RawStrategy strategy;
    reader_.for_each_field(all_, [&](const Field& field) {
      if (field.number == current_stage) strategy.times_saved = Reader::number(field);
      if (field.number == strategy_item) add_stage(Reader::message(field), strategy.stages);
      if (field.number == layout_item) strategy.layouts.push_back(item(Reader::message(field)));
    });
    return strategy;
  }

 private:
  /// Only the operators contain the pipeline stage.
  void add_stage(Range operator_item, std::vector<std::uint64_t>& stages) {
    reader_.for_each_field(operator_item, [&](const Field& field) {
      if (field.number != item_value) return;
      reader_.for_each_field(Reader::message(field), [&](const Field& part) {
        if (part.number != strategy_stage) return;
        const std::uint64_t stage = Reader::number(part);
        if (std::find(stages.begin(), stages.end(), stage) == stages.end()) stages.push_back(stage);
      });
    });
  }

  std::pair<std::string, RawLayout> item(Range message) {
    std::pair<std::string, RawLayout> named;
    Range layout;
    reader_.for_each_field(message, [&](const Field& field) {
      if (field.number == item_name) named.first = reader_.text(field, most_name_bytes);
      if (field.number == item_value) layout = Reader::message(field);
    });
    named.second = with_context("parameter '" + named.first + "'", [&] { return raw_layout(layout); });
    return named;
  }

  RawLayout raw_layout(Range message) {
    RawLayout raw;
    std::vector<std::vector<std::uint64_t>> maps;
    reader_.for_each_field(message, [&](const Field& field) {
      switch (field.number) {
        case dev_matrix:
          raw.devices = dims(field);
          break;
        case tensor_map:
          maps.push_back(dims(field));
          break;
        case param_split_shape:
          raw.sizes = dims(field);
          break;
        case field_size:
          raw.fields = Reader::number(field);
          break;
        case opt_weight_shard_step:
          raw.step = static_cast<std::int64_t>(Reader::number(field));
          break;
        case opt_weight_shard_size:
          raw.shards = static_cast<std::int64_t>(Reader::number(field));
          break;
        default:  // indices_offset: the sums of the sizes
          break;
      }
    });
    raw.map = map_of(maps);
    return raw;
  }

  /// A single map has an entry for each dimension. If there are several, each is a dimension with all its axes; an
  /// empty one after the only map shows that there is one dimension.
  static std::vector<std::vector<std::int64_t>> map_of(const std::vector<std::vector<std::uint64_t>>& maps) {
    std::vector<std::vector<std::int64_t>> map;
    if (maps.size() == 1) {
      for (const std::uint64_t entry : maps.front()) map.push_back({static_cast<std::int64_t>(entry)});
      return map;
    }
    for (const auto& entries : maps) {
      if (entries.empty()) continue;
      auto& dimension = map.emplace_back();
      for (const std::uint64_t entry : entries) dimension.push_back(static_cast<std::int64_t>(entry));
    }
    return map;
  }

  std::vector<std::uint64_t> dims(const Field& list) {
    std::vector<std::uint64_t> numbers;
    reader_.for_each_field(Reader::message(list), [&](const Field& field) {
      if (field.number == 1) reader_.append_numbers(field, numbers, most_entries);
    });
    return numbers;
  }

  Reader reader_;
  Range all_;
};

}  // namespace

RawStrategy parse_protobuf(const std::string& text) {
  return StrategyReader(text).read();
}

}  // namespace ckpt::strategy
