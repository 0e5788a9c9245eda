#include "layout/maps/check_rule.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ckpt {

namespace {

/// The parts of a rule that a message names.
class CheckedRule {
 public:
  CheckedRule(MapRule& rule, const std::array<std::string, 2>& sides, const std::set<std::string>& sizes)
      : rule_(rule), sides_(sides), sizes_(sizes) {}

  void pair() {
    check_once();
    const std::array<std::vector<PieceRef>, 2> all{pieces_of(0), pieces_of(1)};
    if (all[0].size() != all[1].size())
      fail(std::to_string(all[0].size()) + " pieces in \"" + sides_[0] + "\" and " + std::to_string(all[1].size()) +
               " in \"" + sides_[1] + "\"",
           "as many on both sides");
    for (const PieceRef& piece : all[0]) rule_.pieces.push_back({piece, PieceRef{}});
    pair_with(all);
    for (const auto& pair : rule_.pieces) check_axes(pair);
  }

 private:
  void check_once() const {
    for (const MapSide side : {0, 1})
      for (auto tensor = rule_.tensors[side].begin(); tensor != rule_.tensors[side].end(); ++tensor)
        if (std::any_of(rule_.tensors[side].begin(), tensor,
                        [&](const TensorTemplate& before) { return before.pattern() == tensor->pattern(); }))
          fail(tensor->name() + " twice in \"" + sides_[side] + "\"", "each tensor once",
               "list its pieces in one bracket: (f | f)");
  }

  [[noreturn]] void fail(const std::string& found, const std::string& expected, const std::string& remedy = {}) const {
    throw Error(Kind::layout, rule_.place + " (" + texts(0) + " and " + texts(1) + ")", {found, expected, remedy});
  }

  std::string texts(MapSide side) const {
    std::vector<std::string> texts;
    for (const TensorTemplate& tensor : rule_.tensors[side]) texts.push_back(tensor.text());
    return join(texts);
  }

  std::vector<PieceRef> pieces_of(MapSide side) const {
    std::vector<PieceRef> refs;
    for (std::size_t t = 0; t < rule_.tensors[side].size(); ++t)
      for (std::size_t p = 0; p < rule_.tensors[side][t].pieces(); ++p) refs.push_back({t, p});
    return refs;
  }

  const TensorTemplate& tensor(MapSide side, const PieceRef& ref) const { return rule_.tensors[side][ref.tensor]; }

  std::string label(MapSide side, const PieceRef& ref) const {
    const DimTemplate* const fused = tensor(side, ref).fused();
    return fused == nullptr ? "" : fused->pieces[ref.piece].label;
  }

  /// By label where both sides have labels, else by number.
  void pair_with(const std::array<std::vector<PieceRef>, 2>& all) {
    std::array<std::vector<std::string>, 2> labels;
    std::array<std::set<std::string>, 2> known;
    for (const MapSide side : {0, 1})
      for (const PieceRef& piece : all[side]) {
        labels[side].push_back(label(side, piece));
        if (!labels[side].back().empty() && !known[side].insert(labels[side].back()).second)
          fail("label \"" + labels[side].back() + "\" twice in \"" + sides_[side] + "\"", "it once");
      }
    const bool has_labels = !known[0].empty() && !known[1].empty();
    if (has_labels && known[0] != known[1])
      fail("labels " + join({known[0].begin(), known[0].end()}) + " in \"" + sides_[0] + "\" and " +
               join({known[1].begin(), known[1].end()}) + " in \"" + sides_[1] + "\"",
           "the same labels on both sides");
    std::vector<PieceRef> rest;  // without labels, by number
    for (std::size_t i = 0; i < all[1].size(); ++i)
      if (!has_labels || labels[1][i].empty()) rest.push_back(all[1][i]);
    std::size_t next = 0;
    for (std::size_t i = 0; i < all[0].size(); ++i) {
      const auto same = has_labels && !labels[0][i].empty()
                            ? std::find(labels[1].begin(), labels[1].end(), labels[0][i])
                            : labels[1].end();
      rule_.pieces[i][1] =
          same == labels[1].end() ? rest.at(next++) : all[1][static_cast<std::size_t>(same - labels[1].begin())];
    }
  }

  void check_axes(const std::array<PieceRef, 2>& pair) const {
    std::array<std::set<std::string>, 2> found;
    for (const MapSide side : {0, 1}) {
      const TensorTemplate& of = tensor(side, pair[side]);
      for (const std::string& axis : of.axes_of(pair[side].piece))
        if (!found[side].insert(axis).second) fail("axis " + axis + " twice in " + of.text(), "each axis once");
      for (const NameCapture& capture : of.captures())
        if (!capture.first.empty()) check_size(capture.first, of);
    }
    for (const MapSide side : {0, 1})
      for (const std::string& axis : found[side])
        if (!found[other_side(side)].contains(axis))
          fail("axis " + axis + " of " + tensor(side, pair[side]).text() + " is not in " +
                   tensor(other_side(side), pair[other_side(side)]).text(),
               "the same axes in both, in any order");
    check_sizes(pair);
    const auto has_rest = [&](MapSide side) {
      const auto& dims = tensor(side, pair[side]).dims();
      return std::any_of(dims.begin(), dims.end(), [](const DimTemplate& dim) { return dim.is_rest; });
    };
    if (has_rest(0) != has_rest(1))
      fail("a shape on one side only", "a shape on both sides, or ... on both",
           "without a shape a tensor has that of the other side, whatever it is");
  }

  void check_sizes(const std::array<PieceRef, 2>& pair) const {
    const TensorTemplate& of = tensor(0, pair[0]);
    std::set<std::string> texts;
    for (const MapSide side : {0, 1})
      for (const NameCapture& capture : tensor(side, pair[side]).captures())
        if (capture.is_text) texts.insert(capture.axes.front());
    for (const std::string& axis : of.axes_of(pair[0].piece))
      if (!texts.contains(axis)) check_size(axis, of);
  }

  void check_size(const std::string& axis, const TensorTemplate& of) const {
    if (!sizes_.contains(axis)) fail("axis " + axis + " of " + of.text() + " has no size", "one in \"sizes\"");
  }

  MapRule& rule_;
  const std::array<std::string, 2>& sides_;
  const std::set<std::string>& sizes_;
};

}  // namespace

void pair_pieces(MapRule& rule, const std::array<std::string, 2>& sides, const std::set<std::string>& sizes) {
  CheckedRule(rule, sides, sizes).pair();
}

}  // namespace ckpt
