#include "store/outside_data.hpp"

#include <algorithm>

namespace ckpt {

PartialSum sum_outside(const PosixFile& file, std::uint64_t file_bytes, std::vector<Interval> data) {
  constexpr std::uint64_t step = 256ULL << 10;
  std::sort(data.begin(), data.end(), [](const Interval& a, const Interval& b) { return a.lo < b.lo; });
  data.push_back({file_bytes, file_bytes});
  std::vector<std::byte> bytes;
  PartialSum sum;
  std::uint64_t at = 0;
  for (const Interval& interval : data) {
    for (const std::uint64_t end = std::min(interval.lo, file_bytes); at < end; at += bytes.size()) {
      bytes.resize(static_cast<std::size_t>(std::min(step, end - at)));
      file.read(at, bytes);
      sum += sum_of(bytes, at);
    }
    at = std::max(at, interval.hi);
  }
  return sum;
}

}  // namespace ckpt
