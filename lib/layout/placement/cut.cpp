#include "layout/placement/cut.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <tuple>

namespace ckpt {

namespace {

/// Limit on the copies of the last element with which "edge" pads one card: each is a span of its own.
constexpr std::uint64_t most_edge_copies = 1ULL << 20;

/// Limit on parts of different sizes, since the place of each of them in each piece is kept (128 MiB).
constexpr std::uint64_t most_bases = 1ULL << 24;

/// Returns piece j of n elements that are cut k ways.
Interval piece_of(std::uint64_t n, std::uint64_t k, std::uint64_t j, Uneven uneven) {
  if (uneven == Uneven::ceil) {
    const std::uint64_t c = ceil_div(n, k);
    const std::uint64_t lo =
        j >= ceil_div(n, std::max<std::uint64_t>(c, 1)) ? n : j * c;  // avoids j * c above n: it may overflow
    return {lo, lo + std::min(c, n - lo)};
  }
  const std::uint64_t base = n / k;
  const std::uint64_t longer = uneven == Uneven::balanced ? n % k : 0;
  const std::uint64_t lo = j * base + std::min(j, longer);
  return {lo, lo + base + (j < longer ? 1 : 0)};
}

/// Returns which piece of n elements, cut k ways, holds element `at`.
std::uint64_t piece_with(std::uint64_t at, std::uint64_t n, std::uint64_t k, Uneven uneven) {
  if (uneven == Uneven::ceil) return at / ceil_div(n, k);
  const std::uint64_t base = n / k;
  const std::uint64_t longer = uneven == Uneven::balanced ? n % k : 0;
  const std::uint64_t in_longer = longer * (base + 1);
  return at < in_longer ? at / (base + 1) : longer + (at - in_longer) / base;
}

auto key(const CutSpec& s) {
  static const Parts no_parts;
  static const Pad no_pad;
  const Parts& parts = s.parts ? *s.parts : no_parts;
  const Pad& pad = s.pad ? *s.pad : no_pad;
  return std::tie(s.axes, s.counts, s.uneven, s.sizes, parts.sizes, parts.count, pad.size, pad.multiple_of, pad.fill);
}

}  // namespace

bool operator<(const CutSpec& a, const CutSpec& b) {
  return std::tuple(key(a), a.parts.has_value(), a.pad.has_value()) <
         std::tuple(key(b), b.parts.has_value(), b.pad.has_value());
}

std::uint64_t CutSpec::pieces() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{1}, std::multiplies<>());
}

std::optional<std::uint64_t> CutSpec::declared_size() const {
  if (pad) return pad->size;
  const auto sum = [](const std::vector<std::uint64_t>& values) {
    std::uint64_t total = 0;
    for (const auto value : values) total = checked_add(total, value);
    return total;
  };
  if (parts && !parts->sizes.empty()) return sum(parts->sizes);
  if (!sizes.empty()) return sum(sizes);
  return std::nullopt;
}

DimCut::DimCut(std::uint64_t size, const CutSpec& spec)
    : size_(size), pieces_(spec.pieces()), counts_(spec.counts), uneven_(spec.uneven) {
  const auto declared = spec.declared_size();
  if (declared && *declared != size)
    throw Error(Kind::layout,
                std::to_string(size) + " elements where the layout's sizes add up to " + std::to_string(*declared));
  if (spec.parts) {
    add_parts(*spec.parts);
    return;
  }
  if (spec.pad)
    add_padding(*spec.pad);
  else if (!spec.sizes.empty())
    add_sizes(spec.sizes);
  else
    check_divides(size);
  add_part(0, size, 1);
}

void DimCut::add_sizes(const std::vector<std::uint64_t>& sizes) {
  starts_.resize(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), starts_.begin() + 1);
}

void DimCut::check_divides(std::uint64_t size) const {
  if (uneven_ != Uneven::exact) return;
  for (const std::uint64_t k : counts_) {
    if (size % k != 0)
      throw Error(Kind::layout, std::to_string(size) + " elements do not divide by " + std::to_string(k));
    size /= k;
  }
}

void DimCut::add_part(std::uint64_t start, std::uint64_t size, std::uint64_t count) {
  if (size == 0) return;
  if (!runs_.empty() && runs_.back().size == size)
    runs_.back().count += count;
  else
    runs_.push_back({start, size, count});
}

void DimCut::add_parts(const Parts& parts) {
  is_sum_of_parts_ = !parts.sizes.empty();
  if (parts.sizes.empty()) {
    if (size_ % parts.count != 0)
      throw Error(Kind::layout,
                  std::to_string(size_) + " elements do not divide into " + std::to_string(parts.count) + " parts");
    add_part(0, size_ / parts.count, parts.count);
  }
  std::uint64_t start = 0;
  for (const std::uint64_t size : parts.sizes) {
    add_part(start, size, 1);
    start += size;
  }
  with_context("one of \"parts\"", [&] {
    for (const Run& run : runs_) check_divides(run.size);
  });
  if (runs_.size() < 2) return;
  if (runs_.size() * pieces_ > most_bases)
    throw Error(Kind::layout, std::to_string(runs_.size()) + " parts of different sizes, each in " +
                                  std::to_string(pieces_) + " pieces, at most " + std::to_string(most_bases) +
                                  " pieces of such parts are supported");
  bases_.resize(runs_.size() * pieces_, 0);
  for (std::size_t r = 1; r < runs_.size(); ++r)
    for (std::uint64_t p = 0; p < pieces_; ++p)
      bases_[r * pieces_ + p] = base(r - 1, p) + runs_[r - 1].count * interval(runs_[r - 1].size, p).size();
}

void DimCut::add_padding(const Pad& pad) {
  is_padded_ = true;
  padded_ = checked_mul(ceil_div(size_, checked_mul(pieces_, pad.multiple_of, "the padding")), pad.multiple_of,
                        "the padding");
  checked_mul(padded_, pieces_, "the padded size");
  repeats_last_ = pad.fill == Fill::edge && size_ > 0;
  const std::uint64_t copies = padded_ - interval(size_, pieces_ - 1).size();  // the last piece has the most
  if (repeats_last_ && copies > most_edge_copies)
    throw Error(Kind::layout, std::to_string(copies) + " copies of the last element on one card, at most " +
                                  std::to_string(most_edge_copies) + " are supported");
}

Interval DimCut::interval(std::uint64_t size, std::uint64_t piece) const noexcept {
  if (is_padded_) return {std::min(piece * padded_, size), std::min((piece + 1) * padded_, size)};
  if (!starts_.empty()) return {starts_[piece], starts_[piece + 1]};
  std::uint64_t lo = 0;
  std::uint64_t under = pieces_;  // number of pieces within one of the current axis
  for (const std::uint64_t k : counts_) {
    under /= k;
    const Interval part = piece_of(size, k, piece / under, uneven_);
    piece %= under;
    lo += part.lo;
    size = part.size();
  }
  return {lo, lo + size};
}

DimCut::PieceInterval DimCut::find(std::uint64_t size, std::uint64_t at) const noexcept {
  if (is_padded_) return {at / padded_, interval(size, at / padded_)};
  if (!starts_.empty()) {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), at);  // never returns an empty piece
    return {static_cast<std::uint64_t>(after - starts_.begin()) - 1, {*(after - 1), *after}};
  }
  std::uint64_t lo = 0;
  std::uint64_t piece = 0;
  for (const std::uint64_t k : counts_) {
    const std::uint64_t j = piece_with(at, size, k, uneven_);
    const Interval part = piece_of(size, k, j, uneven_);
    piece = piece * k + j;
    lo += part.lo;
    at -= part.lo;
    size = part.size();
  }
  return {piece, {lo, lo + size}};
}

std::uint64_t DimCut::extent(std::uint64_t piece) const noexcept {
  if (is_padded_) return padded_;
  if (runs_.empty()) return 0;
  return base(runs_.size() - 1, piece) + runs_.back().count * interval(runs_.back().size, piece).size();
}

/// In an even or uneven cut no piece is larger than the first.
std::uint64_t DimCut::largest() const noexcept {
  std::uint64_t largest = extent(0);
  for (std::size_t p = 1; p < starts_.size(); ++p) largest = std::max(largest, starts_[p] - starts_[p - 1]);
  return largest;
}

bool DimCut::has_spans(std::uint64_t piece) const noexcept {
  return extent(piece) != 0 && (!is_padded_ || repeats_last_ || !interval(size_, piece).empty());
}

std::size_t DimCut::first_stored(std::uint64_t piece, std::uint64_t stored) const noexcept {
  std::size_t r = 0;  // the last run that starts at or before it, except runs of which the piece holds nothing
  for (std::size_t step = std::bit_floor(runs_.size()); step != 0; step /= 2)
    if (r + step < runs_.size() && base(r + step, piece) <= stored) r += step;
  return r;
}

std::size_t DimCut::first_meeting(std::uint64_t logical) const noexcept {
  const auto after =
      std::partition_point(runs_.begin(), runs_.end(), [&](const Run& run) { return run.start <= logical; });
  return after == runs_.begin() ? 0 : static_cast<std::size_t>(after - runs_.begin()) - 1;
}

}  // namespace ckpt
