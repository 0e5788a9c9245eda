#include "layout/maps/tensor_links.hpp"

#include <algorithm>
#include <bit>
#include <set>

namespace ckpt {

namespace {

/// Joins axes that lie side by side in the same order on both sides into one; drops those of one element.
void join_axes(std::vector<PieceAxis>& axes) {
  std::erase_if(axes, [](const PieceAxis& axis) { return axis.size == 1; });
  for (std::size_t u = 0; u < axes.size();) {
    const auto inner = std::find_if(axes.begin(), axes.end(), [&](const PieceAxis& v) {
      const PieceAxis& outer = axes[u];
      const bool is_in_target = outer.target_dim == v.target_dim && outer.target_step == v.size * v.target_step;
      const bool is_in_source = outer.source_dim == v.source_dim && outer.source_step == v.size * v.source_step &&
                                outer.number_step == v.size * v.number_step;
      return is_in_target && is_in_source;
    });
    if (inner == axes.end()) {
      ++u;
      continue;
    }
    inner->size *= axes[u].size;
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(u));
    u = 0;
  }
}

/// Whether axes can be those of one link: at most one runs along each dimension of either side.
bool can_be_kept(const std::vector<PieceAxis>& axes, std::uint64_t chosen) {
  std::set<std::size_t> sources;
  std::set<std::size_t> targets;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if ((chosen >> k & 1) == 0) continue;
    if (axes[k].source_dim == PieceAxis::nowhere || !sources.insert(axes[k].source_dim).second ||
        !targets.insert(axes[k].target_dim).second)
      return false;
  }
  return true;
}

/// The axes, as bits, that make the largest links.
std::uint64_t axes_to_keep(const std::vector<PieceAxis>& axes) {
  constexpr std::size_t most_tried = 12;  // of a tensor with more, the rest is walked
  const std::size_t count = std::min(axes.size(), most_tried);
  std::uint64_t best = 0;
  std::uint64_t most = 1;
  for (std::uint64_t chosen = 1; chosen < std::uint64_t{1} << count; ++chosen) {
    if (!can_be_kept(axes, chosen)) continue;
    std::uint64_t elements = 1;
    for (std::size_t k = 0; k < count; ++k)
      if ((chosen >> k & 1) != 0) elements *= axes[k].size;
    if (elements > most) {
      most = elements;
      best = chosen;
    }
  }
  return best;
}

}  // namespace

TensorLinks::TensorLinks(std::vector<TensorPiece> pieces, std::optional<Scaling> scaling) : scaling_(scaling) {
  for (TensorPiece& piece : pieces) {
    std::vector<PieceAxis>& axes = piece.axes;
    join_axes(axes);
    // Within a dimension, axes with large steps come first, so that few values meet a box.
    std::stable_sort(axes.begin(), axes.end(),
                     [](const PieceAxis& a, const PieceAxis& b) { return a.target_step > b.target_step; });
    const std::uint64_t kept = axes_to_keep(axes);
    Walk walk{std::move(piece.sources), {}, {}, {{}, {piece.source_base, {}, {}}, {piece.target_base, {}, {}}}};
    Shape span(piece.target_base.size());
    const auto reach = [&](const PieceAxis& axis) { span[axis.target_dim] += (axis.size - 1) * axis.target_step; };
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if ((kept >> k & 1) == 0) {
        walk.walked.push_back(axes[k]);
        continue;
      }
      walk.first.size.push_back(axes[k].size);
      walk.first.source.dims.push_back(axes[k].source_dim);
      walk.first.source.steps.push_back(axes[k].source_step);
      walk.first.target.dims.push_back(axes[k].target_dim);
      walk.first.target.steps.push_back(axes[k].target_step);
      reach(axes[k]);
    }
    walk.spans.resize(walk.walked.size());
    for (std::size_t k = walk.walked.size(); k-- > 0;) {
      walk.spans[k] = span[walk.walked[k].target_dim];
      reach(walk.walked[k]);
    }
    walks_.push_back(std::move(walk));
  }
}

void TensorLinks::for_each(const Box& box, const Visit& visit) const {
  for (const Walk& walk : walks_) {
    Link link = walk.first;
    descend(walk, 0, box, 0, link, visit);
  }
}

/// Goes through those values of one walked axis that may meet the box.
void TensorLinks::descend(const Walk& walk, std::size_t axis, const Box& box, std::uint64_t source, Link& link,
                          const Visit& visit) const {
  if (axis == walk.walked.size()) return visit(walk.sources[source], link);
  const PieceAxis& along = walk.walked[axis];
  const std::size_t d = along.target_dim;
  const std::uint64_t base = link.target.base[d];
  if (box.hi[d] <= base) return;
  const std::uint64_t reach = base + walk.spans[axis];
  const std::uint64_t first = box.lo[d] <= reach ? 0 : ceil_div(box.lo[d] - reach, along.target_step);
  const std::uint64_t last = std::min(along.size - 1, (box.hi[d] - 1 - base) / along.target_step);
  const bool is_in_source = along.source_dim != PieceAxis::nowhere;
  const std::uint64_t source_base = is_in_source ? link.source.base[along.source_dim] : 0;
  for (std::uint64_t value = first; value <= last; ++value) {
    link.target.base[d] = base + value * along.target_step;
    if (is_in_source) link.source.base[along.source_dim] = source_base + value * along.source_step;
    descend(walk, axis + 1, box, source + value * along.number_step, link, visit);
  }
  link.target.base[d] = base;
  if (is_in_source) link.source.base[along.source_dim] = source_base;
}

void TensorLinks::for_each_source(const std::function<void(ParameterId)>& visit) const {
  for (const Walk& walk : walks_)
    for (const ParameterId source : walk.sources) visit(source);
}

}  // namespace ckpt
