#include "diagnosis/draft/evidence.hpp"

#include <algorithm>

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

}  // namespace ckpt::drafting
