#pragma once

#include <optional>
#include <vector>

#include "inspect/panel.hpp"

namespace ckpt::cli {

/// The pixels of a side's marks. Each mark gets room for its label and a share of the rest by its size; if there are
/// too many, the middle ones are replaced by a gap.
class Scale {
 public:
  struct Room {
    int least = 0;         ///< pixels for a mark
    int wanted = 0;        ///< for the whole side, unless the marks need more
    std::size_t most = 1;  ///< marks
  };
  Scale(const std::vector<Mark>& marks, const Room& room);

  struct Pixels {
    int from = 0;
    int to = 0;
    int size() const noexcept { return to - from; }
  };
  int length() const noexcept { return length_; }
  std::size_t left_out() const noexcept { return last_ - first_; }
  bool is_drawn(std::size_t mark) const noexcept { return mark < first_ || mark >= last_; }
  Pixels of_mark(std::size_t mark) const noexcept { return pixels_[mark]; }
  /// The gap; nothing if no mark is left out.
  std::optional<Pixels> gap() const;
  /// The part of an interval, from border to border of marks, that is drawn; nothing if none is.
  std::optional<Pixels> of(Interval interval) const;

 private:
  std::vector<Mark> marks_;
  std::vector<Pixels> pixels_;  // for those left out: the gap's
  std::size_t first_ = 0;       // [first_, last_) are left out
  std::size_t last_ = 0;
  int length_ = 0;
};

}  // namespace ckpt::cli
