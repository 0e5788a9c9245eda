#include "layout/maps/tensor_links.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "base/error.hpp"

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

std::optional<TensorPiece> in_blocks(TensorPiece piece, const std::array<Shape, 2>& shapes,
                                     const std::array<Shape, 2>& blocks) {
  join_axes(piece.axes);
  const std::array<Shape*, 2> bases{&piece.source_base, &piece.target_base};
  // Whether blocks are whole where no axis runs through their elements.
  std::array<std::vector<bool>, 2> is_whole;
  for (const std::size_t side : {0, 1})
    for (std::size_t d = 0; d < shapes[side].size(); ++d) {
      is_whole[side].push_back(blocks[side][d] == 1 || shapes[side][d] == 1);
      if ((*bases[side])[d] % blocks[side][d] != 0) return std::nullopt;
    }
  for (PieceAxis& axis : piece.axes) {
    const bool is_in_name = axis.source_dim == PieceAxis::nowhere;
    const std::array<std::size_t, 2> dims{axis.source_dim, axis.target_dim};
    const std::array<std::uint64_t*, 2> steps{&axis.source_step, &axis.target_step};
    const std::array<std::uint64_t, 2> block{is_in_name ? 1 : blocks[0][dims[0]], blocks[1][dims[1]]};
    const bool is_within = (!is_in_name && block[0] > 1 && *steps[0] == 1) || (block[1] > 1 && *steps[1] == 1);
    if (!is_within) {
      for (const std::size_t side : {0, 1}) {
        if (*steps[side] % block[side] != 0) return std::nullopt;
        *steps[side] /= block[side];
      }
      continue;
    }
    if (is_in_name || block[0] != block[1] || *steps[0] != *steps[1]) return std::nullopt;
    for (const std::size_t side : {0, 1}) {
      const bool is_to_the_end = (*bases[side])[dims[side]] + axis.size == shapes[side][dims[side]];
      if (axis.size % block[side] != 0 && !is_to_the_end) return std::nullopt;
      is_whole[side][dims[side]] = true;
    }
    axis.size = ceil_div(axis.size, block[0]);
  }
  for (const std::size_t side : {0, 1})
    for (std::size_t d = 0; d < shapes[side].size(); ++d) {
      if (!is_whole[side][d]) return std::nullopt;
      (*bases[side])[d] /= blocks[side][d];
    }
  return piece;
}

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

TensorLinks::TensorLinks(std::shared_ptr<const TensorLinks> then, const std::vector<Stop>& stops)
    : then_(std::move(then)), scaling_(then_->scaling()) {
  then_->for_each_source([&](ParameterId stop) { stops_.emplace(stop, stops[stop]); });
  const auto scaling_of = [](const Stop& stop) { return stop.links ? stop.links->scaling() : std::nullopt; };
  const std::optional<Scaling> before = scaling_of(stops_.begin()->second);
  const bool are_alike =
      std::ranges::all_of(stops_, [&](const auto& stop) { return scaling_of(stop.second) == before; });
  if (!are_alike || (before && scaling_))
    throw Error(Kind::input, "",
                {"of two maps, one recomputes a part of it, or both recompute it", "one recomputation of the whole",
                 "apply the maps one after the other, in two jobs"});
  if (before) scaling_ = before;
}

void TensorLinks::for_each_through(const Box& box, const Visit& visit) const {
  then_->for_each(box, [&](ParameterId stop, const Link& last) {
    Box part = whole(last.size);
    if (!narrow(part, last.target, box)) return;
    const auto& [source, links] = stops_.at(stop);
    if (!links) return visit(source, last);
    links->for_each(hull(last.source, part), [&](ParameterId from, const Link& first) {
      if (const auto link = joined(first, last)) visit(from, *link);
    });
  });
}

void TensorLinks::for_each(const Box& box, const Visit& visit) const {
  if (then_) return for_each_through(box, visit);
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
  for (const auto& [number, stop] : stops_) {
    visit(stop.first);
    if (stop.links) stop.links->for_each_source(visit);
  }
}

}  // namespace ckpt
