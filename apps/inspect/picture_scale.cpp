#include "inspect/picture_scale.hpp"

#include <algorithm>
#include <cmath>

namespace ckpt::cli {

namespace {

constexpr int gap_size = 26;

}  // namespace

Scale::Scale(const std::vector<Mark>& marks, const Room& room) : marks_(marks) {
  first_ = last_ = marks.size();
  if (marks.size() > room.most) {
    first_ = (room.most + 1) / 2;
    last_ = marks.size() - room.most / 2;
  }
  double elements = 0;
  int drawn = 0;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!is_drawn(i)) continue;
    elements += static_cast<double>(marks[i].interval.size());
    ++drawn;
  }
  const int gap = left_out() > 0 ? gap_size : 0;
  const double shared = std::max(0, room.wanted - gap - drawn * room.least);
  double before = 0;
  int at = 0;
  for (std::size_t i = 0, number = 0; i < marks.size(); ++i) {
    if (!is_drawn(i)) {
      pixels_.push_back({at, at + gap});
      continue;
    }
    if (i == last_) at += gap;
    before += static_cast<double>(marks[i].interval.size());
    ++number;
    const double share = std::floor(shared * (before / elements));
    const int end = static_cast<int>(number) * room.least + static_cast<int>(share) + (i >= last_ ? gap : 0);
    pixels_.push_back({at, end});
    at = end;
  }
  length_ = at;
}

std::optional<Scale::Pixels> Scale::gap() const {
  if (left_out() == 0) return std::nullopt;
  return pixels_[first_];
}

std::optional<Scale::Pixels> Scale::of(Interval interval) const {
  const auto begins_at = [](const Mark& mark, std::uint64_t at) { return mark.interval.lo < at; };
  const auto begin = std::lower_bound(marks_.begin(), marks_.end(), interval.lo, begins_at);
  const auto end = std::lower_bound(begin, marks_.end(), interval.hi, begins_at);
  if (begin == end) return std::nullopt;
  const auto first = static_cast<std::size_t>(begin - marks_.begin());
  const auto last = static_cast<std::size_t>(end - marks_.begin()) - 1;
  if (!is_drawn(first) && !is_drawn(last)) return std::nullopt;
  return Pixels{is_drawn(first) ? pixels_[first].from : pixels_[first].to,
                is_drawn(last) ? pixels_[last].to : pixels_[last].from};
}

}  // namespace ckpt::cli
