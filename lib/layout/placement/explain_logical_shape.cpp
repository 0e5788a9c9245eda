#include "layout/placement/explain_logical_shape.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <vector>

namespace ckpt {

namespace {

constexpr std::size_t most_fits = 3;
constexpr std::size_t most_axes = 12;  // all their subsets are tried

/// Finds all ways to cut some dimensions over disjoint sets of axes so that each has the number of pieces that it
/// needs.
class Cuttings {
 public:
  /// `order`: the axes, with those to propose first in front.
  Cuttings(const Mesh& mesh, std::vector<Axis> order, const Shape& local, const Shape& logical)
      : mesh_(mesh), order_(std::move(order)), used_(mesh.axes.size()) {
    for (std::size_t d = 0; d < local.size(); ++d) {
      if (local[d] == logical[d]) continue;
      if (local[d] == 0 || logical[d] % local[d] != 0) return;
      needed_.push_back({d, logical[d] / local[d]});
    }
    cut(0, {});
  }

  /// Returns "dim 0 over dp=2 and dim 1 over tp=4", one text for each way, up to most_fits.
  const std::vector<std::string>& fits() const noexcept { return fits_; }

 private:
  struct Needed {
    std::size_t dim;
    std::uint64_t pieces;
  };

  void cut(std::size_t number, const std::vector<std::string>& words) {
    if (fits_.size() == most_fits) return;
    if (number == needed_.size()) {
      std::string fit;
      for (const std::string& word : words) fit.append(fit.empty() ? "" : " and ").append(word);
      fits_.push_back(fit);
      return;
    }
    const Needed& needed = needed_[number];
    take(needed.pieces, 0, {}, [&](const std::string& axes) {
      auto longer = words;
      longer.push_back("dim " + std::to_string(needed.dim) + " over " + axes);
      cut(number + 1, longer);
    });
  }

  /// Calls `go_on` for each set of free axes, starting at `from`, whose sizes multiply to `pieces`.
  void take(std::uint64_t pieces, std::size_t from, const std::set<Axis>& axes,
            const std::function<void(const std::string&)>& go_on) {
    if (pieces == 1) return go_on(described(axes));
    for (std::size_t place = from; place < order_.size(); ++place) {
      const Axis axis = order_[place];
      const std::uint64_t size = mesh_.shape[axis];
      if (used_[axis] || size == 1 || pieces % size != 0) continue;
      used_[axis] = true;
      auto more = axes;
      more.insert(axis);
      take(pieces / size, place + 1, more, go_on);
      used_[axis] = false;
    }
  }

  /// Returns "dp=2 and tp=4".
  std::string described(const std::set<Axis>& axes) const {
    std::string text;
    for (const Axis axis : axes)
      text += (text.empty() ? "" : " and ") + mesh_.axes[axis] + "=" + std::to_string(mesh_.shape[axis]);
    return text;
  }

  const Mesh& mesh_;
  std::vector<Axis> order_;
  std::vector<bool> used_;
  std::vector<Needed> needed_;
  std::vector<std::string> fits_;
};

/// Returns the axes, with those over which the layout splits any parameter first: along the others cards most likely
/// hold copies.
std::vector<Axis> likeliest_first(const Placement& placement) {
  std::vector<bool> splits(placement.mesh().axes.size());
  for (ParameterId parameter = 0; parameter < placement.shardings().size(); ++parameter)
    for (const auto& of_dim : placement.shardings()[parameter].axes)
      for (const Axis axis : of_dim) splits[axis] = true;
  std::vector<Axis> order(splits.size());
  std::iota(order.begin(), order.end(), Axis{0});
  std::stable_partition(order.begin(), order.end(), [&](Axis axis) { return splits[axis]; });
  return order;
}

std::string either(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " or ").append(word);
  return text;
}

bool is_reversed(const Shape& a, const Shape& b) {
  return a.size() > 1 && std::equal(a.begin(), a.end(), std::make_reverse_iterator(b.end()));
}

/// Returns the only dimension in which `found` is larger, if all others are equal; otherwise nothing.
std::optional<std::size_t> longer_dim(const Shape& found, const Shape& expected) {
  std::optional<std::size_t> longer;
  for (std::size_t d = 0; d < found.size(); ++d) {
    if (found[d] == expected[d]) continue;
    if (found[d] < expected[d] || longer) return std::nullopt;
    longer = d;
  }
  return longer;
}

}  // namespace

std::optional<Shape> local_shape_of(const Placement& placement, ParameterId parameter) {
  const Sharding& spread = placement.shardings()[parameter];
  if (spread.bucket || spread.flat || spread.boxes || placement.tensors()[parameter].verbatim) return std::nullopt;
  const Shape stored = placement.stored_shape(placement.array_of(parameter), placement.first_base(parameter));
  Shape local(stored.size());
  for (std::size_t i = 0; i < stored.size(); ++i) local[spread.permute[i]] = stored[i];
  return local;
}

std::string explain_logical_shape(const Placement& placement, ParameterId parameter, const Shape& expected) {
  const auto local = local_shape_of(placement, parameter);
  const Shape& found = placement.tensors()[parameter].shape;
  if (!local || local->size() != expected.size() || placement.mesh().axes.size() > most_axes) return "";
  if (*local == expected) return "not split it would fit";
  if (const Cuttings cuttings(placement.mesh(), likeliest_first(placement), *local, expected); !cuttings.fits().empty())
    return either(cuttings.fits()) + " would fit";
  if (is_reversed(found, expected)) return "with its dimensions in the other order (\"permute\") it would fit";
  if (const auto dim = longer_dim(found, expected); dim && !placement.shardings()[parameter].axes[*dim].empty())
    return "is dim " + std::to_string(*dim) + " padded (\"pad\" with \"size\": " + std::to_string(expected[*dim]) +
           ")?";
  return "";
}

}  // namespace ckpt
