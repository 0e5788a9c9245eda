#include "layout/maps/rule_changes.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "layout/maps/check_rule.hpp"

namespace ckpt {

namespace {

using TryDim = std::function<void(const DimTemplate&)>;

std::string text_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string text_of(const AxisProduct& piece) {
  const std::string label = piece.label.empty() ? "" : piece.label + ": ";
  return label + (piece.is_padding ? "_" : piece.axes.empty() ? "1" : text_of(piece.axes));
}

std::string text_of(const DimTemplate& dim) {
  if (dim.is_rest) return "...";
  if (!dim.has_bracket) return text_of(dim.pieces.front().axes);
  std::string text = text_of(dim.before) + (dim.before.empty() ? "(" : " (");
  for (std::size_t i = 0; i < dim.pieces.size(); ++i) text += (i == 0 ? "" : " | ") + text_of(dim.pieces[i]);
  return text + (dim.after.empty() ? ")" : ") ") + text_of(dim.after);
}

std::string text_of(const TensorTemplate& tensor, const std::vector<DimTemplate>& dims) {
  std::string text = tensor.name() + " [";
  for (std::size_t d = 0; d < dims.size(); ++d) text += (d == 0 ? "" : ", ") + text_of(dims[d]);
  return text + "]";
}

/// Calls `visit` for each exchange of two neighbours; the list is as it was afterwards.
template <class T>
void for_each_exchange(std::vector<T>& list, const std::function<void()>& visit) {
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    std::swap(list[i], list[i + 1]);
    visit();
    std::swap(list[i], list[i + 1]);
  }
}

void change_dim(DimTemplate dim, const TryDim& visit) {
  const auto try_it = [&] { visit(dim); };
  for_each_exchange(dim.before, try_it);
  for_each_exchange(dim.after, try_it);
  for (AxisProduct& piece : dim.pieces) for_each_exchange(piece.axes, try_it);
  if (!dim.has_bracket || dim.is_padded()) return;
  for_each_exchange(dim.pieces, try_it);
  DimTemplate moved = dim;
  if (!dim.before.empty()) {
    moved.after.insert(moved.after.begin(), moved.before.back());
    moved.before.pop_back();
    visit(moved);
  }
  if (!dim.after.empty()) {
    moved = dim;
    moved.before.push_back(moved.after.front());
    moved.after.erase(moved.after.begin());
    visit(moved);
  }
  moved = dim;
  while (!moved.before.empty()) {  // "g (q d | d | d)" to "(g q d | g d | g d)"
    for (AxisProduct& piece : moved.pieces) piece.axes.insert(piece.axes.begin(), moved.before.back());
    moved.before.pop_back();
    visit(moved);
  }
  const auto begins_alike = [&](const AxisProduct& piece) {
    return !piece.axes.empty() && piece.axes.front() == moved.pieces.front().axes.front();
  };
  moved = dim;
  while (!moved.pieces.front().axes.empty() && std::ranges::all_of(moved.pieces, begins_alike)) {  // and back
    moved.before.push_back(moved.pieces.front().axes.front());
    for (AxisProduct& piece : moved.pieces) piece.axes.erase(piece.axes.begin());
    visit(moved);
  }
}

/// Changes of one map's rule.
class Changes {
 public:
  Changes(const NameMap& map, std::size_t rule) : map_(map), rule_(map.rules[rule]) {
    for (const auto& [name, formulas] : map.sizes) sizes_.insert(name);
  }

  std::vector<RuleChange> all() {
    for (const MapSide side : {0, 1})
      for (std::size_t t = 0; t < rule_.tensors[side].size(); ++t) {
        change_tensor(side, t);
        if (t + 1 < rule_.tensors[side].size()) exchange_tensors(side, t);
      }
    return std::move(found_);
  }

 private:
  void change_tensor(MapSide side, std::size_t number) {
    const TensorTemplate& tensor = rule_.tensors[side][number];
    if (!tensor.has_shape()) return;
    std::vector<DimTemplate> dims = tensor.dims();
    const auto try_dims = [&] {
      const std::string text = text_of(tensor, dims);
      if (text == text_of(tensor, tensor.dims())) return;  // equal words were exchanged
      MapRule changed = rule_;
      changed.tensors[side][number] = TensorTemplate(text, sizes_);
      keep(std::move(changed), text);
    };
    for (std::size_t d = 0; d < dims.size(); ++d)
      change_dim(tensor.dims()[d], [&](const DimTemplate& changed) {
        dims[d] = changed;
        try_dims();
        dims[d] = tensor.dims()[d];
      });
    for_each_exchange(dims, try_dims);
  }

  void exchange_tensors(MapSide side, std::size_t number) {
    MapRule changed = rule_;
    auto& tensors = changed.tensors[side];
    std::swap(tensors[number], tensors[number + 1]);
    const std::string text = tensors[number].text() + "\", \"" + tensors[number + 1].text();
    keep(std::move(changed), text);
  }

  void keep(MapRule rule, const std::string& text) {
    rule.pieces.clear();
    try {
      pair_pieces(rule, map_.sides, sizes_);
    } catch (const Error&) {
      return;  // no bijection
    }
    found_.push_back({std::move(rule), text});
  }

  const NameMap& map_;
  const MapRule& rule_;
  std::set<std::string> sizes_;
  std::vector<RuleChange> found_;
};

}  // namespace

std::vector<RuleChange> one_word_changes(const NameMap& map, std::size_t rule) {
  return Changes(map, rule).all();
}

}  // namespace ckpt
