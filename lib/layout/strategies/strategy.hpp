#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layout/language/layout.hpp"

// MindSpore's strategy files: which device of a pipeline stage holds which piece of each parameter.
namespace ckpt {

/// How one parameter is spread over the devices of its stage.
struct ParameterStrategy {
  static constexpr std::uint64_t all_replicas = std::numeric_limits<std::uint64_t>::max();

  std::vector<std::uint64_t> devices;           ///< `dev_matrix`, with the last axis fastest
  std::vector<std::vector<std::size_t>> split;  ///< for each dimension its axes of `devices`, major first
  std::uint64_t optimizer_shards = 1;           ///< dimension 0 is cut once more into this many pieces, over the
                                                ///< replicas
  std::vector<std::uint64_t> sizes;             ///< of dimension 0's pieces, if they are uneven; else empty
  std::uint64_t fields = 0;    ///< dimension 0 consists of this many equal parts, each cut over all devices; 0:
                               ///< `split` applies
  std::optional<Shape> shape;  ///< of the whole tensor, if the file gives it

  friend bool operator==(const ParameterStrategy&, const ParameterStrategy&) = default;
};

/// One strategy file's description of one stage.
struct StageStrategy {
  std::uint64_t stage = 0;
  std::string origin;  ///< the file, for messages
  std::map<std::string, ParameterStrategy> parameters;
};

/// A strategy file's text, and its name in messages.
struct StrategyText {
  std::string origin;
  std::string text;
};

/// Returns whether a text is a strategy, judging by its content: protobuf, or JSON.
bool is_strategy(const std::string& text);

/// Returns the number of stored dimensions of a parameter, if known: JSON flattens dimensions that are cut over several
/// axes, so that it may not show it.
using RankOf = std::function<std::optional<std::size_t>(const std::string& parameter)>;

/// Returns the stages that a strategy describes: one, or several that were merged. Throws layout, naming file and
/// parameter.
std::vector<StageStrategy> parse_strategy(const StrategyText& strategy, const RankOf& rank_of = {});

/// Combines the strategies of a job's stages into a layout; each stage may occur several times, as every rank writes
/// its own. Parameters that no strategy names are replicated; optimizer state is like its parameter. The cards' files
/// are those in rank_{card}/. Throws layout for stages that are missing or contradict one another, and for strategies
/// that no layout expresses.
Layout strategy_layout(const std::vector<StageStrategy>& stages, const std::string& origin);

namespace strategy {

/// A strategy in the form of its file, either one.
struct RawLayout {
  std::vector<std::uint64_t> devices;
  std::vector<std::vector<std::int64_t>> map;  ///< for each dimension; axes count from the right, −1: not cut
  std::vector<std::uint64_t> sizes;
  std::uint64_t fields = 0;
  std::int64_t step = 0;
  std::int64_t shards = 0;
  std::optional<Shape> shape;
};

struct RawStrategy {
  std::uint64_t times_saved = 0;  ///< `current_stage`; 1 after merging
  std::vector<std::uint64_t> stages;
  std::vector<std::pair<std::string, RawLayout>> layouts;
};

RawStrategy parse_protobuf(const std::string& text);
RawStrategy parse_strategy_json(const StrategyText& strategy, const RankOf& rank_of);

/// One of the stretches of a stage's devices along which a dimension is cut: devices `lo` apart, up to `hi`. Major
/// first.
struct Span {
  std::uint64_t lo = 1;
  std::uint64_t hi = 1;
  friend auto operator<=>(const Span&, const Span&) = default;
};
using Spans = std::vector<std::vector<Span>>;

/// Returns the spans of each dimension, including the optimizer's cut; nothing if that does not follow the devices'
/// axes.
std::optional<Spans> spans_of(const ParameterStrategy& parameter);

/// Returns the number of equal pieces of each dimension, including the optimizer's cut; for uneven pieces, its number
/// of elements.
std::vector<std::uint64_t> pieces_of(const ParameterStrategy& parameter);

/// Returns what each device of a stage holds, counted in those pieces.
std::vector<Box> boxes_of(const ParameterStrategy& parameter, const std::vector<std::uint64_t>& pieces);

}  // namespace strategy

}  // namespace ckpt
