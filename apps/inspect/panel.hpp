#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/placement/placement.hpp"
#include "report/card_ids.hpp"

namespace ckpt::cli {

/// Cards that hold the same elements of what a panel shows.
struct Shard {
  CardIds cards;
  bool has_coordinates = false;  ///< some coordinates describe exactly these cards
  std::string label;             ///< these coordinates on the axes that matter, "tp=0"
  std::string holds;             ///< in words, if the drawing does not show it
};

/// A stretch of a side of the drawing within which nothing is cut.
struct Mark {
  Interval interval;
  std::string label;
  friend bool operator==(const Mark&, const Mark&) = default;
};

/// One direction of the drawing, usually a dimension of the tensor. Its marks follow one another.
struct Side {
  std::string title;
  std::vector<Mark> marks;
  bool counts_elements = true;  ///< the marks' intervals are of elements, not only an order
  friend bool operator==(const Side&, const Side&) = default;
};

/// A rectangle of the drawing and the shard that it belongs to; nothing: padding, which is not part of the tensor.
struct Cell {
  Interval rows;
  Interval columns;
  std::optional<std::size_t> shard;
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// The drawing, or one of several if more than two dimensions are cut.
struct Slice {
  std::string label;
  std::vector<Cell> cells;
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// The picture of one parameter, of several that are alike, or of a bucket.
struct Panel {
  std::string title;               ///< the name; for several parameters their pattern and number
  std::string home;                ///< the coordinates that it is confined to, "pp=0"; empty: none
  std::vector<std::string> notes;  ///< lines below it, the first of which says what it is
  std::vector<std::string> rules;  ///< those that decide it; several for a panel of several parameters
  std::vector<Shard> shards;
  Side rows;
  Side columns;
  std::vector<Slice> slices;
  std::size_t slices_left_out = 0;
  bool is_open = false;  ///< the layout has no rule for it: how it is cut is not known
};

/// Draws one parameter: its two dimensions, those that are cut if it has more, or, if cards hold runs of its elements
/// (`flat`, a bucket), all elements in a row.
Panel parameter_panel(const Placement& placement, ParameterId parameter);

/// Draws a bucket's stored array, and names the members on each card.
Panel bucket_panel(const Placement& placement, ArrayId array);

/// A parameter that the layout has no rule for. `stored`: its shapes on the cards, in words.
struct OpenParameter {
  std::string name;
  std::string stored;
};

/// The parameters in their order, an optimizer's state and then what is open last. Those that differ only in numbers,
/// or in the word of a state, and are cut alike share a panel; with `whole_buckets`, buckets replace their members.
std::vector<Panel> panels_of(const Placement& placement, const std::vector<ParameterId>& parameters, bool whole_buckets,
                             const std::vector<OpenParameter>& open = {});

}  // namespace ckpt::cli
