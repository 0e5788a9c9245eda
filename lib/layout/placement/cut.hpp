#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/language/layout.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// How one dimension of a tensor is cut over cards: `split` with `uneven`, `sizes`, `parts` and `pad`.
struct CutSpec {
  std::vector<Axis> axes;             ///< major first; empty: not split
  std::vector<std::uint64_t> counts;  ///< size of each axis
  Uneven uneven = Uneven::exact;
  std::vector<std::uint64_t> sizes;  ///< explicit piece sizes; empty: none
  std::optional<Parts> parts;
  std::optional<Pad> pad;

  std::uint64_t pieces() const noexcept;
  /// Returns the logical size if the layout itself determines it (sizes, parts with sizes, pad).
  std::optional<std::uint64_t> declared_size() const;
  friend bool operator<(const CutSpec& a, const CutSpec& b);
};

/// A run of a dimension's logical indices, and its place in the piece that holds it.
struct Span {
  Interval logical;
  std::uint64_t stored = 0;  ///< index of the run's first element within the piece
  std::uint32_t piece = 0;
  bool fill = false;  ///< an "edge" copy of the last element

  Interval local() const noexcept { return {stored, stored + logical.size()}; }
};

/// A dimension of `size` logical elements and how it is cut. Immutable; shared by all tensors that are cut alike. Spans
/// are computed on demand, so that memory does not grow with their number: there is one for each part and card.
class DimCut {
 public:
  /// Throws layout, in words for a message ("10 does not divide by tp=4"), if the size cannot be cut in this way.
  DimCut(std::uint64_t size, const CutSpec& spec);

  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t pieces() const noexcept { return pieces_; }
  /// Returns whether its size is the sum of the sizes of "parts".
  bool is_sum_of_parts() const noexcept { return is_sum_of_parts_; }
  /// Returns the number of elements that a piece stores along this dimension, padding included.
  std::uint64_t extent(std::uint64_t piece) const noexcept;
  /// Returns the extent of the largest piece.
  std::uint64_t largest() const noexcept;
  /// Returns whether a piece has a span; a piece that stores nothing, or only zeros, does not.
  bool has_spans(std::uint64_t piece) const noexcept;

  /// Calls visit(span) for the spans of a piece that meet an interval of its stored elements, in stored order, fill
  /// included.
  template <class Visit>
  void for_each_stored(std::uint64_t piece, Interval stored, Visit&& visit) const {
    if (stored.empty()) return;
    for (std::size_t r = first_stored(piece, stored.lo); r < runs_.size() && base(r, piece) < stored.hi; ++r) {
      const Run& run = runs_[r];
      const Interval held = interval(run.size, piece);
      if (held.empty()) continue;
      std::uint64_t at = base(r, piece);
      std::uint64_t part = stored.lo > at ? (stored.lo - at) / held.size() : 0;
      for (at += part * held.size(); part < run.count && at < stored.hi; ++part, at += held.size()) {
        const std::uint64_t start = run.start + part * run.size;
        visit(Span{{start + held.lo, start + held.hi}, at, static_cast<std::uint32_t>(piece), false});
      }
    }
    if (!repeats_last_) return;
    const std::uint64_t end = std::min(stored.hi, padded_);
    for (std::uint64_t i = std::max(stored.lo, interval(size_, piece).size()); i < end; ++i)
      visit(Span{{size_ - 1, size_}, i, static_cast<std::uint32_t>(piece), true});
  }

  /// Calls visit(span) for the spans that meet a logical interval, in logical order, fill excluded.
  template <class Visit>
  void for_each_meeting(Interval logical, Visit&& visit) const {
    for (std::size_t r = first_meeting(logical.lo); r < runs_.size() && runs_[r].start < logical.hi; ++r) {
      const Run& run = runs_[r];
      std::uint64_t part = logical.lo > run.start ? (logical.lo - run.start) / run.size : 0;
      for (; part < run.count; ++part) {
        const std::uint64_t start = run.start + part * run.size;
        if (start >= logical.hi) return;
        std::uint64_t at = std::max(logical.lo, start) - start;
        while (at < run.size && start + at < logical.hi) {
          const PieceInterval found = find(run.size, at);
          visit(Span{{start + found.interval.lo, start + found.interval.hi},
                     base(r, found.piece) + part * found.interval.size(),
                     static_cast<std::uint32_t>(found.piece),
                     false});
          at = found.interval.hi;
        }
      }
    }
  }

 private:
  /// Consecutive parts of equal size. Without `parts` everything is one part.
  struct Run {
    std::uint64_t start;  ///< logical index
    std::uint64_t size;   ///< size of each part, above 0
    std::uint64_t count;
  };
  struct PieceInterval {
    std::uint64_t piece;
    Interval interval;
  };

  void add_parts(const Parts& parts);
  void add_sizes(const std::vector<std::uint64_t>& sizes);
  void add_part(std::uint64_t start, std::uint64_t size, std::uint64_t count);
  void add_padding(const Pad& pad);
  void check_divides(std::uint64_t size) const;
  std::size_t first_stored(std::uint64_t piece, std::uint64_t stored) const noexcept;
  std::size_t first_meeting(std::uint64_t logical) const noexcept;
  /// Returns what a piece holds of a part of `size` elements, relative to the part's start.
  Interval interval(std::uint64_t size, std::uint64_t piece) const noexcept;
  /// Returns the piece that holds an element of such a part, and everything that it holds of the part.
  PieceInterval find(std::uint64_t size, std::uint64_t at) const noexcept;
  /// Returns where a piece stores its share of a run's first part.
  std::uint64_t base(std::size_t run, std::uint64_t piece) const noexcept {
    return bases_.empty() ? 0 : bases_[run * pieces_ + piece];
  }

  std::uint64_t size_ = 0;
  std::uint64_t pieces_ = 1;
  std::vector<std::uint64_t> counts_;  // of `split`, major first
  Uneven uneven_ = Uneven::exact;
  std::vector<std::uint64_t> starts_;  // of `sizes`: each piece's first index, and the end
  std::vector<Run> runs_;
  std::vector<std::uint64_t> bases_;  // by run and piece; empty: one run
  bool is_sum_of_parts_ = false;
  bool is_padded_ = false;
  std::uint64_t padded_ = 0;   // of `pad`: elements that each piece stores
  bool repeats_last_ = false;  // of `pad`: padded with copies of the last element
};

}  // namespace ckpt
