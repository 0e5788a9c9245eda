// Maps of names that are drawn at random, both sides cut at random, against a model that counts elements one by one.
#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "catch.hpp"
#include "layout/maps/mapped_tensors.hpp"
#include "plan/planner.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

using Axes = std::vector<std::string>;
using Values = std::map<std::string, std::uint64_t>;

/// A tensor of a drawn rule: `name.{l} [a b, c (d e | f) g]`.
struct DrawnTensor {
  struct Dim {
    Axes before;
    std::vector<std::pair<std::size_t, Axes>> pieces;  ///< number of the rule's piece, and its axes here
    Axes after;
    bool has_bracket = false;
  };
  std::string name;
  Axes in_name;
  std::vector<Dim> dims;
};

struct DrawnRule {
  Values sizes;
  std::vector<Axes> pieces;
  std::array<std::vector<DrawnTensor>, 2> tensors;
};

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_); }

  /// Draws another side for a rule's pieces.
  std::vector<DrawnTensor> side(const DrawnRule& rule) {
    Axes common = rule.pieces.front();
    for (const Axes& piece : rule.pieces)
      std::erase_if(common, [&](const std::string& axis) { return std::ranges::find(piece, axis) == piece.end(); });
    std::erase_if(common, [](const std::string& axis) { return axis > "c"; });
    return tensors(rule, common);
  }

  DrawnRule rule() {
    DrawnRule rule;
    for (const char* axis : {"a", "b", "c", "d", "e", "f"}) rule.sizes[axis] = 1 + below(4);
    Axes common{"a", "b", "c"};
    common.resize(1 + below(3));
    const std::uint64_t pieces = 1 + below(3);
    for (std::uint64_t p = 0; p < pieces; ++p) {
      Axes axes = common;
      if (below(2) == 0) axes.push_back(std::string(1, char('d' + below(3))));
      rule.pieces.push_back(axes);
    }
    for (auto& side : rule.tensors) side = tensors(rule, common);
    return rule;
  }

  std::mt19937_64& random() { return random_; }

 private:
  /// Either one tensor that has all pieces in a bracket, or one for each.
  std::vector<DrawnTensor> tensors(const DrawnRule& rule, const Axes& common) {
    std::vector<DrawnTensor> tensors;
    const bool is_fused = rule.pieces.size() > 1 && below(2) == 0;
    for (std::size_t p = 0; p < rule.pieces.size(); ++p) {
      if (is_fused && p > 0) break;
      DrawnTensor tensor{"t" + std::to_string(p), {}, {}};
      Axes axes = is_fused ? common : rule.pieces[p];
      std::shuffle(axes.begin(), axes.end(), random_);
      if (axes.size() > 1 && below(2) == 0) {
        tensor.in_name.push_back(axes.back());
        axes.pop_back();
      }
      tensor.dims.resize(1 + below(2));
      for (const std::string& axis : axes) tensor.dims[below(tensor.dims.size())].before.push_back(axis);
      if (is_fused) {
        DrawnTensor::Dim& dim = tensor.dims[below(tensor.dims.size())];
        dim.has_bracket = true;
        for (std::size_t i = 0; i < rule.pieces.size(); ++i)
          dim.pieces.emplace_back(i,
                                  Axes(rule.pieces[i].begin() + std::ptrdiff_t(common.size()), rule.pieces[i].end()));
        while (!dim.before.empty() && below(2) == 0) {
          dim.after.insert(dim.after.begin(), dim.before.back());
          dim.before.pop_back();
        }
      }
      std::erase_if(tensor.dims, [](const auto& dim) { return dim.before.empty() && !dim.has_bracket; });
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  std::mt19937_64 random_;
};

std::string words(const Axes& axes) {
  std::string text;
  for (const std::string& axis : axes) text += (text.empty() ? "" : " ") + axis;
  return text;
}

std::string text_of(const DrawnTensor& tensor) {
  std::string text = tensor.name;
  for (const std::string& axis : tensor.in_name) text += ".{" + axis + "}";
  std::string dims;
  for (const auto& dim : tensor.dims) {
    dims += dims.empty() ? "" : ", ";
    dims += words(dim.before);
    std::string pieces;
    for (const auto& [piece, axes] : dim.pieces)
      pieces += (pieces.empty() ? "" : " | ") + (axes.empty() ? "1" : words(axes));
    if (dim.has_bracket) dims += " (" + pieces + ") " + words(dim.after);
  }
  return text + " [" + dims + "]";
}

std::string json_of(const DrawnRule& rule) {
  std::string text = R"({"ckpt_names": 1, "sides": ["s", "t"], "sizes": {)";
  for (const auto& [axis, size] : rule.sizes)
    text += (axis == "a" ? "\"" : ", \"") + axis + "\": " + std::to_string(size);
  text += "}, \"tensors\": [{";
  for (const MapSide side : {0, 1}) {
    text += side == 0 ? "\"s\": [" : ", \"t\": [";
    for (const DrawnTensor& tensor : rule.tensors[side])
      text += (&tensor == &rule.tensors[side].front() ? "\"" : ", \"") + text_of(tensor) + "\"";
    text += "]";
  }
  return text + "}]}";
}

/// Visits all values of axes, the last fastest.
void count(const Axes& axes, const Values& sizes, Values& values, const std::function<void()>& visit,
           std::size_t at = 0) {
  if (at == axes.size()) return visit();
  for (values[axes[at]] = 0; values[axes[at]] < sizes.at(axes[at]); ++values[axes[at]])
    count(axes, sizes, values, visit, at + 1);
  values.erase(axes[at]);
}

std::string key_of(std::size_t piece, const Values& values) {
  std::string key = std::to_string(piece);
  for (const auto& [axis, value] : values) key += axis + std::to_string(value);
  return key;
}

/// All elements of a tensor of one side, in row-major order, each as its piece and the values of its axes.
struct ModelTensor {
  Shape shape;
  std::vector<std::string> elements;
};

/// Lists the indices of one dimension, each as its piece (if the dimension says which) and values.
std::vector<std::pair<std::optional<std::size_t>, Values>> indices(const DrawnTensor::Dim& dim, const Values& sizes) {
  std::vector<std::pair<std::optional<std::size_t>, Values>> list;
  Values values;
  count(dim.before, sizes, values, [&] {
    if (!dim.has_bracket) return void(list.emplace_back(std::nullopt, values));
    for (const auto& [piece, axes] : dim.pieces)
      count(axes, sizes, values, [&] { count(dim.after, sizes, values, [&] { list.emplace_back(piece, values); }); });
  });
  return list;
}

std::map<std::string, ModelTensor> model_of(const DrawnRule& rule, MapSide side) {
  std::map<std::string, ModelTensor> tensors;
  for (std::size_t t = 0; t < rule.tensors[side].size(); ++t) {
    const DrawnTensor& tensor = rule.tensors[side][t];
    Values values;
    count(tensor.in_name, rule.sizes, values, [&] {
      std::string name = tensor.name;
      for (const std::string& axis : tensor.in_name) name += "." + std::to_string(values.at(axis));
      ModelTensor& made = tensors[name];
      std::vector<std::pair<std::optional<std::size_t>, Values>> all{{std::nullopt, values}};
      for (const auto& dim : tensor.dims) {
        const auto here = indices(dim, rule.sizes);
        made.shape.push_back(here.size());
        std::vector<std::pair<std::optional<std::size_t>, Values>> next;
        for (const auto& [piece, of] : all)
          for (const auto& [its_piece, more] : here) {
            next.emplace_back(its_piece ? its_piece : piece, of);
            next.back().second.insert(more.begin(), more.end());
          }
        all = std::move(next);
      }
      for (const auto& [piece, of] : all) made.elements.push_back(key_of(piece.value_or(t), of));
    });
  }
  return tensors;
}

Placement cut(Drawing& drawing, const std::vector<Tensor>& tensors) {
  const std::uint64_t cards = 1 + drawing.below(4);
  const bool has_columns =
      std::all_of(tensors.begin(), tensors.end(), [](const Tensor& each) { return each.shape.size() > 1; });
  const std::string split = has_columns && drawing.below(2) == 0 ? R"([null, "x"])" : R"(["x"])";
  return target(
      one_rule(R"(["x"])", "[" + std::to_string(cards) + "]", R"("split": )" + split + R"(, "uneven": "ceil")"),
      tensors);
}

using Arrays = std::map<std::pair<Position, ArrayId>, std::vector<std::string>>;

/// What each card stores of the model's tensors.
Arrays stored(const Placement& placement, const std::map<std::string, ModelTensor>& model) {
  Arrays arrays;
  for (Position card = 0; card < placement.mesh().size(); ++card)
    for (ArrayId array = 0; array < placement.arrays().size(); ++array) {
      auto& elements = arrays[{card, array}];
      elements.resize(numel(placement.stored_shape(array, card)));
      placement.for_each_region(array, card, {0, elements.size()}, [&](ParameterId parameter, const Region& region) {
        const ModelTensor& tensor = model.at(placement.tensors()[parameter].name);
        const Shape strides = row_major_strides(tensor.shape);
        const StridedCopy walk = strided_copy(region.box.shape(), strides, region.strides, 1);
        std::uint64_t first = 0;
        for (std::size_t d = 0; d < region.box.rank(); ++d) first += region.box.lo[d] * strides[d];
        for_each_step({walk.loops.data(), walk.depth}, [&](const CopyStep& step) {
          for (std::uint64_t i = 0; i < walk.run; ++i)
            elements[region.offset + step.target + i] = tensor.elements[first + step.source + i];
        });
      });
    }
  return arrays;
}

using ModelTensors = std::map<std::string, ModelTensor>;

MappedTensors applied(const std::string& json, MapSide from, const std::vector<Tensor>& tensors) {
  const NameMap map = parse_name_map(json, "drawn.json", {});
  const MapSizes sizes(map, {}, {});
  MapSource all;
  for (const Tensor& each : tensors) all.tensors.emplace_back(each, all.tensors.size());
  return map_tensors(map, sizes, from, all, {});
}

/// One map, and then another one, in one go.
MappedTensors applied_together(const std::string& json, MapSide from, const std::string& then,
                               const std::vector<Tensor>& tensors) {
  const MappedTensors middle = applied(json, from, tensors);
  std::vector<TensorLinks::Stop> stops;
  for (const auto& origin : middle.origins) stops.push_back({origin.first, origin.links});
  MappedTensors made = applied(then, 0, middle.tensors);
  for (auto& origin : made.origins) {
    const TensorLinks::Stop stop = stops[origin.first];
    origin.links = origin.links ? std::make_shared<const TensorLinks>(origin.links, stops) : stop.links;
    origin.first = stop.first;
  }
  return made;
}

/// For each tensor a rule that cuts its dimensions in any way into axes, and puts them together in another order.
std::string regrouping(Drawing& drawing, const ModelTensors& before, ModelTensors& after) {
  std::string rules;
  Values sizes;
  for (const auto& [name, of] : before) {
    DrawnTensor from{name, {}, {}};
    Axes axes;
    for (const std::uint64_t extent : of.shape) {
      std::uint64_t outer = 1 + drawing.below(extent);
      while (extent % outer != 0) --outer;
      auto& dim = from.dims.emplace_back();
      for (const std::uint64_t size : {outer, extent / outer}) {
        const std::string axis = "x" + std::to_string(sizes.size());
        sizes[axis] = size;
        dim.before.push_back(axis);
        axes.push_back(axis);
      }
    }
    DrawnTensor to{"then." + name, {}, {}};
    std::shuffle(axes.begin(), axes.end(), drawing.random());
    const std::size_t first = 1 + drawing.below(axes.size());
    to.dims.push_back({Axes(axes.begin(), axes.begin() + std::ptrdiff_t(first)), {}, {}, false});
    if (first < axes.size()) to.dims.push_back({Axes(axes.begin() + std::ptrdiff_t(first), axes.end()), {}, {}, false});
    rules += (rules.empty() ? "" : ", ") + ("{\"s\": \"" + text_of(from)) + "\", \"t\": \"" + text_of(to) + "\"}";
    ModelTensor& made = after[to.name];
    for (const auto& dim : to.dims) {
      std::uint64_t extent = 1;
      for (const std::string& axis : dim.before) extent *= sizes[axis];
      made.shape.push_back(extent);
    }
    Values values;
    count(axes, sizes, values, [&] {
      std::uint64_t at = 0;
      for (const auto& dim : from.dims)
        for (const std::string& axis : dim.before) at = at * sizes.at(axis) + values.at(axis);
      made.elements.push_back(of.elements[at]);
    });
  }
  std::string text = "{\"ckpt_names\": 1, \"sides\": [\"s\", \"t\"], \"sizes\": {";
  for (const auto& [axis, size] : sizes)
    text += (text.ends_with('{') ? "\"" : ", \"") + axis + "\": " + std::to_string(size);
  return text + "}, \"tensors\": [" + rules + "]}";
}

using Applied = std::function<MappedTensors(const std::vector<Tensor>& tensors)>;

/// Carries the tensors of one model to another one's, both cut at random. Returns what is wrong, or nothing.
std::string fault_of(Drawing& drawing, const ModelTensors& before, const ModelTensors& after, const Applied& apply) {
  std::vector<Tensor> tensors;
  for (const auto& [name, of] : before) tensors.push_back(tensor(name, of.shape));
  const Placement source = cut(drawing, tensors);
  const MappedTensors mapped = apply(source.tensors());
  if (mapped.tensors.size() != after.size()) return "other tensors";
  std::vector<ParameterId> source_of;
  Planner::Links links;
  for (std::size_t i = 0; i < mapped.tensors.size(); ++i) {
    const auto of = after.find(mapped.tensors[i].name);
    if (of == after.end() || !(Shape(mapped.tensors[i].shape) == of->second.shape)) return "other shapes";
    source_of.push_back(mapped.origins[i].first);
    links.push_back(mapped.origins[i].links);
  }
  const Placement wanted = cut(drawing, mapped.tensors);
  const Readers readers(source, {});
  const Planner planner(source, wanted, source_of, readers, links);
  const Arrays held = stored(source, before);
  for (const auto& [place, elements] : stored(wanted, after)) {
    std::vector<std::string> found(elements.size());
    const std::uint64_t each = 1 + drawing.below(20);
    for (std::uint64_t lo = 0; lo < elements.size(); lo += each) {
      const Interval run{lo, std::min<std::uint64_t>(lo + each, elements.size())};
      planner.for_each_transfer({place.first, place.second, run, run.size() * 4}, 0, [&](const Transfer& transfer) {
        const StridedCopy copy =
            strided_copy(transfer.source.box.shape(), transfer.source.strides, transfer.target_strides, 1);
        const auto& array = held.at({transfer.card, transfer.array});
        for_each_step({copy.loops.data(), copy.depth}, [&](const CopyStep& step) {
          for (std::uint64_t i = 0; i < copy.run; ++i)
            found[lo + transfer.target_offset / 4 + step.target + i] = array[transfer.source.offset + step.source + i];
        });
      });
    }
    if (found != elements) return "other elements of card " + std::to_string(place.first);
  }
  return "";
}

}  // namespace

TEST_CASE("drawn maps move each element to its place, however both sides are cut") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Drawing drawing(seed);
    const DrawnRule rule = drawing.rule();
    for (const MapSide from : {0, 1}) {
      const std::string fault = fault_of(drawing, model_of(rule, from), model_of(rule, other_side(from)),
                                         [&](const auto& tensors) { return applied(json_of(rule), from, tensors); });
      INFO("seed " << seed << ", from side " << from << ": " << json_of(rule));
      REQUIRE(fault.empty());
    }
  }
}

TEST_CASE("two drawn maps, one after the other, move each element to its place") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Drawing drawing(seed);
    DrawnRule rule = drawing.rule();
    const std::string first = json_of(rule);
    const ModelTensors before = model_of(rule, 0);
    std::string then;
    ModelTensors after;
    if (seed % 2 == 0) {
      then = regrouping(drawing, model_of(rule, 1), after);
    } else {
      rule.tensors[0] = std::exchange(rule.tensors[1], drawing.side(rule));
      then = json_of(rule);
      after = model_of(rule, 1);
    }
    const std::string fault = fault_of(drawing, before, after,
                                       [&](const auto& tensors) { return applied_together(first, 0, then, tensors); });
    INFO("seed " << seed << ": " << first << " and " << then);
    REQUIRE(fault.empty());
  }
}

TEST_CASE("padding of a map's tensor has no source") {
  const NameMap map = parse_name_map(
      R"({"ckpt_names": 1, "sides": ["m", "h"], "sizes": {"v": 3, "w": 2}, "tensors": [{"m": "e [(v | _), w]", "h": "f [v, w]"}]})",
      "map.json", {});
  const MapSizes sizes(map, {}, {});
  const Placement source = target(single_card(), {tensor("f", {3, 2})});
  MapWish wish;
  wish.shape = [](const std::string&) { return std::optional(Shape{5, 2}); };
  const MappedTensors mapped = map_tensors(map, sizes, 1, {{{source.tensors()[0], 0}}, true}, wish);
  REQUIRE(mapped.tensors.size() == 1);
  CHECK(Shape(mapped.tensors[0].shape) == Shape{5, 2});
  const Placement wanted = target(single_card(), mapped.tensors);
  const Readers readers(source, {});
  const Planner planner(source, wanted, {0}, readers, {mapped.origins[0].links});
  const Chunk chunk{0, 0, {0, 10}, 40};
  CHECK(planner.for_each_transfer(chunk, 0, [](const Transfer&) {}) == 24);
  CHECK(planner.unlinked_bytes(chunk) == 16);
  CHECK_FALSE(planner.fills(chunk));
}
