#include "io/outside_data.hpp"

#include <algorithm>

namespace ckpt {

namespace {

constexpr std::uint64_t max_piece = 256U << 10;
/// One read covers several pieces, and the data between them if skipping it costs less than another read.
constexpr std::uint64_t max_read = 1U << 20;
constexpr std::uint64_t max_skipped = 16U << 10;

}  // namespace

std::vector<Interval> outside(std::vector<Interval> data, std::uint64_t file_bytes) {
  std::sort(data.begin(), data.end(), [](Interval a, Interval b) { return a.lo < b.lo; });
  std::vector<Interval> pieces;
  std::uint64_t from = 0;
  const auto add = [&](std::uint64_t to) {
    for (; from < to; from = pieces.back().hi) pieces.push_back({from, std::min(to, from + max_piece)});
  };
  for (const Interval& interval : data) {
    add(std::min(interval.lo, file_bytes));
    from = std::max(from, interval.hi);
  }
  add(file_bytes);
  return pieces;
}

namespace {

/// Returns the first piece after `first` that is not read together with it.
std::size_t end_of_read(const std::vector<Interval>& pieces, std::size_t first) {
  std::size_t last = first + 1;
  while (last < pieces.size() && pieces[last].lo - pieces[last - 1].hi <= max_skipped &&
         pieces[last].hi - pieces[first].lo <= max_read)
    ++last;
  return last;
}

/// Announces all reads from piece `first` on, so that they wait for the storage only once.
void announce(const PosixFile& file, const std::vector<Interval>& pieces, std::size_t first) {
  while (first < pieces.size()) {
    const std::size_t last = end_of_read(pieces, first);
    file.will_need(pieces[first].lo, pieces[last - 1].hi - pieces[first].lo);
    first = last;
  }
}

}  // namespace

bool for_each_piece(const PosixFile& file, const std::vector<Interval>& pieces,
                    const std::function<bool(std::uint64_t, std::span<const std::byte>)>& visit) {
  bool is_announced = false;
  std::vector<std::byte> buffer;
  for (std::size_t first = 0; first < pieces.size();) {
    const std::size_t last = end_of_read(pieces, first);
    const std::uint64_t start = pieces[first].lo;
    buffer.resize(pieces[last - 1].hi - start);
    if (is_announced || !file.read_if_there(start, buffer)) {
      if (!is_announced) announce(file, pieces, first);
      is_announced = true;
      file.read(start, buffer);
    }
    for (; first < last; ++first) {
      const Interval piece = pieces[first];
      if (!visit(piece.lo, std::span(buffer).subspan(piece.lo - start, piece.size()))) return false;
    }
  }
  return true;
}

PartialSum sum_outside(const PosixFile& file, std::uint64_t file_bytes, std::vector<Interval> data) {
  PartialSum sum;
  for_each_piece(file, outside(std::move(data), file_bytes),
                 [&](std::uint64_t offset, std::span<const std::byte> bytes) {
                   sum += sum_of(bytes, offset);
                   return true;
                 });
  return sum;
}

}  // namespace ckpt
