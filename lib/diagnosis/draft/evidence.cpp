#include "diagnosis/draft/evidence.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/number.hpp"

namespace ckpt::drafting {

const Tensor* WholeTensors::find(const std::string& name) const {
  const auto& all = tensors();
  const auto found =
      std::lower_bound(all.begin(), all.end(), name, [](const Tensor& t, const std::string& n) { return t.name < n; });
  return found == all.end() || found->name != name ? nullptr : &*found;
}

bool have_same_bytes(const DType& ours, const DType& theirs) {
  return ours == theirs || are_same_numbers(ours, theirs);
}

bool are_comparable(const DType& ours, const DType& theirs) {
  return have_same_bytes(ours, theirs) ||
         (ours.is_float() && theirs.is_float() && number_format(ours) && number_format(theirs));
}

bool are_same(const DType& ours, std::span<const std::byte> a, const DType& theirs, std::span<const std::byte> b) {
  if (have_same_bytes(ours, theirs)) return std::equal(a.begin(), a.end(), b.begin(), b.end());
  const NumberFormat our_format = *number_format(ours);
  const NumberFormat their_format = *number_format(theirs);
  if (ours.size >= theirs.size) return round_to(our_format, a.data(), their_format, b.data(), a.size() / ours.size);
  return round_to(their_format, b.data(), our_format, a.data(), a.size() / ours.size);
}

Likeness::Likeness(const DType& ours, const DType& theirs, std::optional<Tolerance> tolerance)
    : ours_(ours), theirs_(theirs), tolerance_(tolerance) {}

void Likeness::add(std::span<const std::byte> ours, std::span<const std::byte> theirs) {
  if (!tolerance_) {
    are_same_ = are_same_ && are_same(ours_, ours, theirs_, theirs);
    return;
  }
  const NumberFormat our_format = *number_format(ours_);
  const NumberFormat their_format = *number_format(theirs_);
  const std::uint64_t count = ours.size() / ours_.size;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double a = float_value(our_format, ours.data() + i * ours_.size);
    const double b = float_value(their_format, theirs.data() + i * theirs_.size);
    if (std::isnan(a) && std::isnan(b)) continue;
    ours_sums_.add(a);
    theirs_sums_.add(b);
    squares_between_ += (a - b) * (a - b);
  }
}

void Likeness::Sums::add(double value) {
  if (count == 0) first = value;
  const double from_first = value - first;
  sum += from_first;
  squares += from_first * from_first;
  ++count;
}

double Likeness::Sums::spread() const {
  return count == 0 ? 0 : std::max(0.0, squares - sum * sum / double(count));
}

bool Likeness::holds() const {
  if (!tolerance_) return are_same_;
  if (squares_between_ == 0) return true;
  const double larger = std::sqrt(std::max(ours_sums_.spread(), theirs_sums_.spread()));
  const double allowed = tolerance_->relative * larger + tolerance_->absolute * std::sqrt(double(ours_sums_.count));
  return std::isfinite(squares_between_) && std::sqrt(squares_between_) <= allowed;
}

double Likeness::relative_difference() const {
  return squares_between_ == 0 ? 0 : std::sqrt(squares_between_ / std::max(ours_sums_.spread(), theirs_sums_.spread()));
}

}  // namespace ckpt::drafting
