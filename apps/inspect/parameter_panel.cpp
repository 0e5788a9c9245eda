#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "inspect/holders.hpp"
#include "inspect/logical_view.hpp"
#include "inspect/panel.hpp"
#include "inspect/part_names.hpp"
#include "report/render.hpp"

namespace ckpt::cli {

namespace {

constexpr std::size_t most_slices = 6;
constexpr std::size_t most_parts = 64;

/// The logical dimensions along the drawing's sides; absent for a side without a dimension.
struct DrawnDims {
  std::optional<std::size_t> rows;
  std::optional<std::size_t> columns;
  std::vector<std::size_t> slices;  ///< other dimensions that are cut: a drawing for each of their pieces
};

DrawnDims choose(std::size_t rank, const std::vector<std::size_t>& cut) {
  if (rank == 0) return {};
  if (rank == 1) return {std::nullopt, 0, {}};
  if (rank == 2 || cut.empty()) return {0, rank - 1, {}};
  if (cut.size() == 1) return cut[0] == rank - 1 ? DrawnDims{0, cut[0], {}} : DrawnDims{cut[0], rank - 1, {}};
  return {cut[cut.size() - 2], cut.back(), {cut.begin(), cut.end() - 2}};
}

/// Draws one parameter whose cards hold boxes of it.
class BoxPanel {
 public:
  BoxPanel(const Placement& placement, ParameterId parameter, const std::vector<CardBoxes>& holders)
      : placement_(placement),
        tensor_(placement.tensors()[parameter]),
        sharding_(placement.shardings()[parameter]),
        holders_(holders) {
    for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim) {
      parts_.push_back(parts_of(dim));
      stretches_.push_back(stretches_of(dim));
    }
    std::vector<std::size_t> cut;
    for (std::size_t dim = 0; dim < stretches_.size(); ++dim)
      if (stretches_[dim].size() > 1) cut.push_back(dim);
    drawn_ = choose(tensor_.shape.size(), cut);
  }

  void draw(Panel& panel) {
    panel.rows = side(drawn_.rows);
    panel.columns = side(drawn_.columns);
    note_undrawn(panel);
    note_parts(panel);
    std::vector<std::size_t> choice(drawn_.slices.size(), 0);
    do {
      if (panel.slices.size() == most_slices)
        ++panel.slices_left_out;
      else
        panel.slices.push_back(slice(choice, panel));
    } while (advance(choice));
  }

 private:
  /// The parts of a fused dimension that are cut separately; none if it is one.
  std::vector<Mark> parts_of(std::size_t dim) const {
    if (sharding_.boxes) return {};
    std::vector<std::uint64_t> starts;  // each begins with the first piece's share
    sharding_.cuts[dim]->for_each_meeting({0, tensor_.shape[dim]}, [&](const Span& span) {
      if (span.piece == 0 && starts.size() <= most_parts) starts.push_back(span.logical.lo);
    });
    if (starts.size() < 2 || starts.size() > most_parts) return {};
    const std::vector<std::string> names = part_names(tensor_.name, starts.size());
    std::vector<Mark> parts;
    for (std::size_t i = 0; i < starts.size(); ++i)
      parts.push_back({{starts[i], i + 1 < starts.size() ? starts[i + 1] : tensor_.shape[dim]}, names[i]});
    return parts;
  }

  std::vector<Interval> stretches_of(std::size_t dim) const {
    std::set<std::uint64_t> borders{0, tensor_.shape[dim]};
    for (const Mark& part : parts_[dim]) borders.insert(part.interval.lo);
    for (const auto& holder : holders_) {
      for (const Box& box : holder.boxes) {
        borders.insert(box.lo[dim]);
        borders.insert(box.hi[dim]);
      }
    }
    std::vector<Interval> stretches;
    for (auto border = borders.begin(); std::next(border) != borders.end(); ++border)
      stretches.push_back({*border, *std::next(border)});
    return stretches;
  }

  /// The coordinates of the cards that hold a stretch of a dimension, if axes cut it.
  std::string coordinates(std::size_t dim, Interval stretch) const {
    if (sharding_.boxes) return "";
    const std::vector<Axis>& axes = sharding_.axes[dim];
    std::string text;
    sharding_.cuts[dim]->for_each_meeting({stretch.lo, stretch.lo + 1}, [&](const Span& span) {
      text = coordinates_text(placement_.mesh(), axes, placement_.mesh().position_of_combination(axes, span.piece));
    });
    return text;
  }

  /// "q tp=0": the part, and the coordinates of the cards that hold the stretch.
  std::string label_of(std::size_t dim, Interval stretch) const {
    std::string label;
    for (const Mark& part : parts_[dim])
      if (!intersect(part.interval, stretch).empty()) label = part.label;
    const std::string where = coordinates(dim, stretch);
    return label + (label.empty() || where.empty() ? "" : " ") + where;
  }

  std::uint64_t padding(std::size_t dim) const {
    if (sharding_.boxes) return 0;
    const DimCut& cut = *sharding_.cuts[dim];
    std::uint64_t stored = 0;
    for (std::uint64_t piece = 0; piece < cut.pieces(); ++piece) stored += cut.extent(piece);
    return stored - cut.size();
  }

  Side side(std::optional<std::size_t> dim) const {
    if (!dim) return {"", {{{0, 1}, ""}}, false};
    const std::uint64_t size = tensor_.shape[*dim];
    Side side{"dimension " + std::to_string(*dim) + ": " + with_commas(size), {}, true};
    for (const Interval stretch : stretches_[*dim]) side.marks.push_back({stretch, label_of(*dim, stretch)});
    if (const std::string over = sharding_.boxes ? "" : over_axes(placement_.mesh(), sharding_.axes[*dim]);
        !over.empty())
      side.title += " " + over;
    if (const std::uint64_t more = padding(*dim); more > 0) {
      side.title += ", and " + with_commas(more) + " of padding";
      side.marks.push_back({{size, size + more}, "padding"});
    }
    return side;
  }

  void note_undrawn(Panel& panel) const {
    std::vector<std::string> dims;
    for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim) {
      if (dim == drawn_.rows || dim == drawn_.columns || stretches_[dim].size() > 1) continue;
      dims.push_back(std::to_string(dim) + " (" + with_commas(tensor_.shape[dim]) + ")");
    }
    if (!dims.empty())
      panel.notes.push_back((dims.size() == 1 ? "not drawn, as every card holds all of it: dimension "
                                              : "not drawn, as every card holds all of them: dimensions ") +
                            join(dims, dims.size()));
  }

  void note_parts(Panel& panel) const {
    for (std::size_t dim = 0; dim < parts_.size(); ++dim) {
      std::vector<std::string> parts;
      for (const Mark& part : parts_[dim])
        parts.push_back(part.label + " (" + with_commas(part.interval.lo) + " to " + with_commas(part.interval.hi) +
                        ")");
      if (!parts.empty()) panel.notes.push_back("parts of dimension " + std::to_string(dim) + ": " + join(parts, 8));
    }
  }

  /// Advances to the next combination of pieces of the sliced dimensions; false after the last.
  bool advance(std::vector<std::size_t>& choice) const {
    for (std::size_t i = choice.size(); i-- > 0;) {
      if (++choice[i] < stretches_[drawn_.slices[i]].size()) return true;
      choice[i] = 0;
    }
    return false;
  }

  Slice slice(const std::vector<std::size_t>& choice, const Panel& panel) const {
    Slice slice;
    std::vector<Interval> at;
    for (std::size_t i = 0; i < choice.size(); ++i) {
      const std::size_t dim = drawn_.slices[i];
      at.push_back(stretches_[dim][choice[i]]);
      slice.label += (i > 0 ? ", " : "") + std::string("dimension ") + std::to_string(dim) + " from " +
                     with_commas(at[i].lo) + " to " + with_commas(at[i].hi);
      if (const std::string where = label_of(dim, at[i]); !where.empty()) slice.label += " (" + where + ")";
    }
    const auto along = [](const Box& box, std::optional<std::size_t> dim) { return dim ? box[*dim] : Interval{0, 1}; };
    for (std::size_t shard = 0; shard < holders_.size(); ++shard) {
      for (const Box& box : holders_[shard].boxes) {
        bool meets = true;
        for (std::size_t i = 0; i < at.size(); ++i) meets = meets && !intersect(box[drawn_.slices[i]], at[i]).empty();
        if (meets) slice.cells.push_back({along(box, drawn_.rows), along(box, drawn_.columns), shard});
      }
    }
    add_padding(slice, panel);
    return slice;
  }

  static void add_padding(Slice& slice, const Panel& panel) {
    const auto extent = [](const Side& side) {
      return side.marks.empty() ? Interval{} : Interval{0, side.marks.back().interval.hi};
    };
    const auto is_padded = [&](const Side& side) {
      return extent(side).size() > 0 && side.marks.back().label == "padding";
    };
    if (is_padded(panel.rows))
      slice.cells.push_back({panel.rows.marks.back().interval, extent(panel.columns), std::nullopt});
    if (is_padded(panel.columns))
      slice.cells.push_back({extent(panel.rows), panel.columns.marks.back().interval, std::nullopt});
  }

  const Placement& placement_;
  const Tensor& tensor_;
  const Sharding& sharding_;
  const std::vector<CardBoxes>& holders_;
  std::vector<std::vector<Mark>> parts_;          // of each dimension
  std::vector<std::vector<Interval>> stretches_;  // of each dimension, between its borders
  DrawnDims drawn_;
};

/// The axis over which cards hold runs of a parameter's elements.
std::optional<Axis> axis_of_runs(const Placement& placement, const Sharding& sharding) {
  if (sharding.flat) return sharding.flat->axis;
  if (sharding.bucket) return placement.layout().buckets[*sharding.bucket].axis;
  return std::nullopt;
}

std::vector<Axis> axes_that_cut(const Sharding& sharding) {
  std::vector<Axis> axes;
  for (const auto& of_dim : sharding.axes) axes.insert(axes.end(), of_dim.begin(), of_dim.end());
  std::sort(axes.begin(), axes.end());
  return axes;
}

/// Draws all elements in stored order along the columns, with a row for each piece that `split` makes.
void draw_runs(const Placement& placement, ParameterId parameter, Axis axis, const std::vector<CardBoxes>& holders,
               Panel& panel) {
  const Sharding& sharding = placement.shardings()[parameter];
  const Mesh& mesh = placement.mesh();
  const std::vector<Axis> cut = axes_that_cut(sharding);
  struct Run {
    std::uint64_t row;
    std::uint64_t coordinate;
    std::size_t shard;
    std::uint64_t elements;
  };
  std::vector<Run> runs;
  for (std::size_t shard = 0; shard < holders.size(); ++shard) {
    std::uint64_t elements = 0;
    for (const Box& box : holders[shard].boxes) elements += numel(box.shape());
    const Position first = holders[shard].positions.front();
    if (elements > 0) runs.push_back({mesh.combination_at(cut, first), mesh.coordinate(first, axis), shard, elements});
  }
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return std::pair(a.row, a.coordinate) < std::pair(b.row, b.coordinate); });
  Slice slice;
  std::set<std::uint64_t> borders;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    if (i == 0 || run.row != runs[i - 1].row) {
      at = 0;
      panel.rows.marks.push_back(
          {{run.row, run.row + 1}, coordinates_text(mesh, cut, mesh.position_of_combination(cut, run.row))});
    }
    slice.cells.push_back({{run.row, run.row + 1}, {at, at + run.elements}, run.shard});
    borders.insert({at, at + run.elements});
    at += run.elements;
  }
  for (auto border = borders.begin(); border != borders.end() && std::next(border) != borders.end(); ++border)
    panel.columns.marks.push_back({{*border, *std::next(border)}, ""});
  panel.slices.push_back(std::move(slice));
  const std::string over = over_axes(mesh, {axis});
  panel.columns.title = "elements in stored order" + (over.empty() ? "" : ", in runs " + over);
  if (const std::string rows = over_axes(mesh, cut); !rows.empty()) panel.rows.title = "cut " + rows;
  panel.rows.counts_elements = false;
}

std::string copies_text(const Placement& placement, ParameterId parameter, const Panel& panel) {
  const std::uint64_t copies = placement.copies(parameter);
  if (panel.shards.size() == 1 && copies > 1)
    return copies == placement.mesh().size() ? "replicated on all " + counted(copies, "card")
                                             : "replicated on its " + counted(copies, "card");
  return with_commas(copies) + (copies == 1 ? " copy" : " copies");
}

}  // namespace

Panel parameter_panel(const Placement& placement, ParameterId parameter) {
  const Tensor& tensor = placement.tensors()[parameter];
  const Sharding& sharding = placement.shardings()[parameter];
  Panel panel;
  panel.title = tensor.name;
  panel.home = home_of(placement, placement.array_of(parameter));
  const ArrayId array = placement.array_of(parameter);
  const std::vector<CardBoxes> holders = boxes_of(placement, parameter);
  for (const auto& holder : holders) {
    panel.shards.push_back(shard_of(placement, array, holder.positions));
    if (!holder.boxes.empty()) continue;
    const bool is_padded = !sharding.bucket && placement.stored_bytes(array, holder.positions.front()) > 0;
    panel.shards.back().holds = is_padded ? "padding only" : "nothing";
  }
  panel.notes.push_back(tensor.dtype.name + " " + to_string(tensor.shape) + ", " + format_bytes(tensor.bytes()) + ", " +
                        copies_text(placement, parameter, panel));
  panel.rules = {rule_of(placement, parameter)};
  if (!std::is_sorted(sharding.permute.begin(), sharding.permute.end()))
    panel.notes.push_back("stored with its dimensions in the order " + format_list(sharding.permute));
  if (const auto axis = axis_of_runs(placement, sharding))
    draw_runs(placement, parameter, *axis, holders, panel);
  else
    BoxPanel(placement, parameter, holders).draw(panel);
  return panel;
}

}  // namespace ckpt::cli
