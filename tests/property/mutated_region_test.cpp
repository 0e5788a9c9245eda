#include <algorithm>
#include <cstring>
#include <map>

#include "catch.hpp"
#include "plan/planner.hpp"
#include "property/checkpoint.hpp"

using namespace model;

namespace {

/// A source region and the part of a target region that it fills.
struct Move {
  ckpt::ParameterId parameter;  ///< of the target
  std::uint64_t from;
  ckpt::ArrayId from_array;
  ckpt::Region held;
  std::uint64_t to;
  ckpt::ArrayId to_array;
  ckpt::Region into;
};

/// Moves a checkpoint element by element through regions, one of which may be tampered with.
class Regions {
 public:
  explicit Regions(const Case& drawn)
      : checkpoint_(drawn),
        source_(
            resolve_source(ckpt::parse_layout(drawn.source.json, "source.json"), checkpoint_.card_arrays()).placement),
        target_(resolve_target(ckpt::parse_layout(drawn.target.json, "target.json"), source_.tensors()).placement),
        readers_(source_, {}) {
    for (std::uint64_t card = 0; card < target_.mesh().size(); ++card)
      for (ckpt::ArrayId array = 0; array < target_.arrays().size(); ++array)
        if (target_.holds(card, array)) find_moves(card, array);
  }

  std::vector<Move>& moves() noexcept { return moves_; }
  const ckpt::Placement& target() const noexcept { return target_; }

  /// Whether every target array comes out as the model says.
  bool is_right() const {
    std::map<std::pair<std::uint64_t, ckpt::ArrayId>, Bytes> written;
    for (const Move& move : moves_)
      if (!perform(move, written[{move.to, move.to_array}])) return false;
    for (std::uint64_t card = 0; card < target_.mesh().size(); ++card)
      for (ckpt::ArrayId array = 0; array < target_.arrays().size(); ++array) {
        if (!target_.holds(card, array)) continue;
        Bytes& bytes = written[{card, array}];
        bytes.resize(bytes_of(card, array));
        if (bytes != contents(checkpoint_.target()[card].at(target_.arrays()[array].name))) return false;
      }
    return true;
  }

 private:
  std::uint64_t bytes_of(std::uint64_t card, ckpt::ArrayId array) const {
    return numel(target_.stored_shape(array, card)) * target_.arrays()[array].dtype.size;
  }

  void find_moves(std::uint64_t card, ckpt::ArrayId array) {
    const ckpt::Interval all{0, numel(target_.stored_shape(array, card))};
    target_.for_each_region(array, card, all, [&](ckpt::ParameterId parameter, const ckpt::Region& wanted) {
      source_.for_each_shard(parameter, wanted.box, [&](std::uint64_t from, const ckpt::Region& held) {
        moves_.push_back({parameter, readers_.choose(parameter, from, 0), source_.array_of(parameter), held, card,
                          array, restricted(wanted, held.box)});
      });
    });
  }

  /// Element by element; false where a region leads out of its array.
  bool perform(const Move& move, Bytes& out) const {
    const std::uint64_t element = target_.tensors()[move.parameter].dtype.size;
    const Bytes& in = checkpoint_.source(move.from, source_.arrays()[move.from_array].name);
    out.resize(bytes_of(move.to, move.to_array));
    const auto shared = intersect(move.held.box, move.into.box);
    if (!shared) return true;
    const ckpt::Shape shape = shared->shape();
    for (std::uint64_t i = 0; i < numel(shape); ++i) {
      std::uint64_t at = move.held.offset;
      std::uint64_t to = move.into.offset;
      std::uint64_t rest = i;
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
        const std::uint64_t index = shared->lo[d] + rest % shape[d];
        at += (index - move.held.box.lo[d]) * move.held.strides[d];
        to += (index - move.into.box.lo[d]) * move.into.strides[d];
      }
      if (at >= in.size() / element || to >= out.size() / element) return false;
      std::memcpy(out.data() + to * element, in.data() + at * element, element);
    }
    return true;
  }

  Checkpoint checkpoint_;
  ckpt::Placement source_;
  ckpt::Placement target_;
  ckpt::Readers readers_;  // where replicas may differ, the lowest card's counts
  std::vector<Move> moves_;
};

/// Changes one number of a region; nothing where that number does not matter.
std::optional<ckpt::Region> tampered(Choices& choices, const ckpt::Region& region) {
  ckpt::Region other = region;
  const std::uint64_t kind = choices.below(5);
  if (kind == 0) {
    ++other.offset;
  } else if (kind == 1) {
    --other.offset;
  } else {
    if (region.box.rank() == 0) return std::nullopt;
    const std::size_t dim = choices.below(region.box.rank());
    if (kind == 2 && region.box[dim].size() == 1) return std::nullopt;
    if (kind == 2) ++other.strides[dim];
    if (kind == 3) ++other.box.lo[dim];
    if (kind == 4) --other.box.hi[dim];
  }
  return other;
}

std::vector<std::string> features_of(const Side& side, std::size_t tensor) {
  const auto& own = side.layout.keys[tensor];
  std::vector<std::string> features{own ? "array" : "bucket"};
  Keys keys = own.value_or(Keys{});
  for (const Bucket& bucket : side.layout.buckets)
    for (const Member& member : bucket.members)
      if (member.tensor == tensor) keys = member.keys;
  if (!keys.split.empty())
    features.emplace_back(keys.uneven == Uneven::exact ? "exact" : keys.uneven == Uneven::ceil ? "ceil" : "balanced");
  if (!keys.sizes.empty()) features.emplace_back("sizes");
  if (keys.parts) features.emplace_back("parts");
  if (!keys.pad.empty()) features.emplace_back("pad");
  if (keys.flat) features.emplace_back("flat");
  if (!keys.permute.empty()) features.emplace_back("permute");
  if (!keys.at.empty()) features.emplace_back("at");
  if (!keys.boxes.empty()) features.emplace_back("boxes");
  return features;
}

}  // namespace

TEST_CASE("one number of one region changed does not go unnoticed, whatever feature it comes from") {
  std::map<std::string, std::size_t> tried;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Choices choices(1'000'000 + seed);
    const Case drawn = draw_case(choices);
    Regions regions(drawn);
    INFO("seed " << seed << "\n" << describe(drawn));
    REQUIRE(regions.is_right());
    for (int i = 0; i < 4 && !regions.moves().empty(); ++i) {
      Move& move = regions.moves()[choices.below(regions.moves().size())];
      const auto& tensor = regions.target().tensors()[move.parameter];
      if (tensor.dtype.size == 1) continue;  // too few values to tell all elements apart
      const bool is_source = choices.chance(50);
      ckpt::Region& region = is_source ? move.held : move.into;
      const auto other = tampered(choices, region);
      if (!other) continue;
      const ckpt::Region before = std::exchange(region, *other);
      INFO(tensor.name.str() << (is_source ? ", source" : ", target") << " region " << to_string(before.box));
      CHECK_FALSE(regions.is_right());
      region = before;
      const auto number = std::find_if(drawn.tensors.begin(), drawn.tensors.end(),
                                       [&](const Tensor& each) { return logical_name(each) == tensor.name; }) -
                          drawn.tensors.begin();
      for (const std::string& feature :
           features_of(is_source ? drawn.source : drawn.target, static_cast<std::size_t>(number)))
        ++tried[feature];
    }
  }
  for (const char* feature :
       {"array", "bucket", "exact", "ceil", "balanced", "sizes", "parts", "pad", "flat", "permute", "at"}) {
    INFO(feature << " tried " << tried[feature] << " times");
    CHECK(tried[feature] >= 50);
  }
}
