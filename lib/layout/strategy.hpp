#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layout/layout.hpp"

// MindSpore's strategy files: which device of a pipeline stage holds which piece of each parameter.
namespace ckpt {

/// How one parameter is spread over the devices of its stage.
struct ParameterStrategy {
  static constexpr std::uint64_t all_replicas = std::numeric_limits<std::uint64_t>::max();

  std::vector<std::uint64_t> devices;           ///< `dev_matrix`, the last axis fastest
  std::vector<std::vector<std::size_t>> split;  ///< for each dimension its axes of `devices`, major first
  std::uint64_t optimizer_shards = 1;           ///< dimension 0 is cut again so many ways over the replicas
  std::vector<std::uint64_t> sizes;             ///< of dimension 0's pieces, where they are uneven; else empty
  std::uint64_t fields = 0;      ///< dimension 0 is so many equal parts, each cut over all devices; 0: by `split`
  std::optional<Extents> shape;  ///< of the whole tensor, where the file tells it

  friend bool operator==(const ParameterStrategy&, const ParameterStrategy&) = default;
};

/// What one strategy file says of one stage.
struct StageStrategy {
  std::uint64_t stage = 0;
  std::string origin;  ///< the file, for messages
  std::map<std::string, ParameterStrategy> parameters;
};

/// A strategy file's text and what messages call it.
struct StrategyText {
  std::string origin;
  std::string text;
};

/// Whether a text is a strategy, by its content: protobuf, or JSON.
bool is_strategy(const std::string& text);

/// How many dimensions a parameter is stored with, where somebody knows: JSON flattens dimensions that are cut over
/// several axes, so that it may not tell.
using RankOf = std::function<std::optional<std::size_t>(const std::string& parameter)>;

/// The stages that a strategy is of: one, or those that were merged. Throws layout, naming file and parameter.
std::vector<StageStrategy> parse_strategy(const StrategyText& strategy, const RankOf& rank_of = {});

/// The layout that the files of a job's stages together are; each stage may be there several times, as every rank
/// writes its own. What no strategy names is replicated; optimizer state is like its parameter. The cards' files are
/// those in rank_{card}/. Throws layout for stages that are missing or contradict one another, and for what no layout
/// says.
Layout strategy_layout(const std::vector<StageStrategy>& stages, const std::string& origin);

namespace strategy {

/// A strategy as its file has it, in either form.
struct RawLayout {
  std::vector<std::uint64_t> devices;
  std::vector<std::vector<std::int64_t>> map;  ///< for each dimension; axes count from the right, −1: not cut
  std::vector<std::uint64_t> sizes;
  std::uint64_t fields = 0;
  std::int64_t step = 0;
  std::int64_t shards = 0;
  std::optional<Extents> shape;
};

struct RawStrategy {
  std::uint64_t times_saved = 0;  ///< `current_stage`; 1 after merging
  std::vector<std::uint64_t> stages;
  std::vector<std::pair<std::string, RawLayout>> layouts;
};

RawStrategy parse_protobuf(const std::string& text);
RawStrategy parse_strategy_json(const StrategyText& strategy, const RankOf& rank_of);

/// Stretches of a stage's devices along which a dimension is cut: of devices `lo` apart, up to `hi`. Major first.
struct Span {
  std::uint64_t lo = 1;
  std::uint64_t hi = 1;
  friend auto operator<=>(const Span&, const Span&) = default;
};
using Spans = std::vector<std::vector<Span>>;

/// The spans of each dimension, optimizer's cut included; nothing where that does not follow the devices' axes.
std::optional<Spans> spans_of(const ParameterStrategy& parameter);

/// Into how many equal pieces each dimension is cut, the optimizer's cut included; uneven ones count its elements.
std::vector<std::uint64_t> pieces_of(const ParameterStrategy& parameter);

/// What each device of a stage holds, counted in those pieces.
std::vector<Box> boxes_of(const ParameterStrategy& parameter, const std::vector<std::uint64_t>& pieces);

}  // namespace strategy

}  // namespace ckpt
