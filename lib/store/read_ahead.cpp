#include "store/read_ahead.hpp"

#include <algorithm>

namespace ckpt {

namespace {

constexpr std::uint64_t unit = 256ULL << 10;

std::uint64_t units(std::uint64_t bytes) {
  return bytes / unit + (bytes % unit != 0 ? 1 : 0);
}

}  // namespace

void ReadAhead::want(Interval bytes, std::uint64_t block) {
  if (bytes.empty() || bytes.hi > file_bytes_) return;
  bytes.lo -= bytes.lo % block;
  bytes.hi += std::min(file_bytes_ - bytes.hi, (block - bytes.hi % block) % block);
  for (const Interval& part : take_new(bytes)) file_.will_need(part.lo, part.size());
}

std::vector<Interval> ReadAhead::take_new(Interval bytes) {
  std::vector<Interval> parts;
  const std::lock_guard lock(mutex_);
  if (left_ == 0) {
    left_ = units(file_bytes_);
    asked_.assign(left_, false);
  }
  for (std::uint64_t i = bytes.lo / unit; i < units(bytes.hi); ++i) {
    if (asked_[i]) continue;
    asked_[i] = true;
    --left_;
    const Interval part{i * unit, std::min(file_bytes_, (i + 1) * unit)};
    if (!parts.empty() && parts.back().hi == part.lo)
      parts.back().hi = part.hi;
    else
      parts.push_back(part);
  }
  return parts;
}

}  // namespace ckpt
