#include "io/strided_data.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "tensor/box.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

namespace {

/// Limit on a single read.
constexpr std::uint64_t stretch_bytes = 1U << 20;

class StridedReader {
 public:
  StridedReader(const PosixFile& file, const StridedData& data)
      : file_(file), data_(data), target_strides_(row_major_strides(data.shape)) {}

  /// Reads the elements of a box: the first to `target`, the others to their places relative to it in the whole array.
  void take(const Box& box, std::byte* target) {
    const Shape shape = box.shape();
    const StridedCopy copy = strided_copy(shape, data_.strides, target_strides_, data_.element);
    const std::uint64_t span = copy.source_span();
    if (copy.depth == 0) return file_.read(offset_of(box), {target, static_cast<std::size_t>(span)});
    if (span > stretch_bytes || is_sparse(shape, data_.strides, data_.element)) return divide(box, target);
    if (!stretch_) stretch_ = std::make_unique_for_overwrite<std::byte[]>(stretch_bytes);
    file_.read(offset_of(box), {stretch_.get(), static_cast<std::size_t>(span)});
    run(copy, stretch_.get(), target);
  }

 private:
  std::uint64_t offset_of(const Box& box) const {
    std::uint64_t elements = 0;
    for (std::size_t d = 0; d < box.rank(); ++d) elements += box.lo[d] * data_.strides[d];
    return data_.offset + elements * data_.element;
  }

  void divide(const Box& box, std::byte* target) {
    const std::size_t widest = furthest_dimension(box.shape(), data_.strides);
    const Interval all = box[widest];
    const auto part = [&](std::uint64_t first, std::uint64_t count) {
      Box some = box;
      some.set(widest, {first, std::min(all.hi, first + count)});
      return some;
    };
    const std::uint64_t stride = data_.strides[widest] * data_.element;
    std::uint64_t steps = std::clamp<std::uint64_t>(stretch_bytes / stride, 1, all.size());
    if (steps == all.size() || is_sparse(part(all.lo, steps).shape(), data_.strides, data_.element)) steps = 1;
    for (std::uint64_t lo = all.lo; lo < all.hi; lo += steps)
      take(part(lo, steps), target + (lo - all.lo) * target_strides_[widest] * data_.element);
  }

  const PosixFile& file_;
  const StridedData& data_;
  Shape target_strides_;
  std::unique_ptr<std::byte[]> stretch_;
};

}  // namespace

bool is_sparse(const Shape& shape, const Shape& strides, std::uint64_t element, std::uint64_t read_cost) {
  Shape once = shape;  // repeated elements are read once
  for (std::size_t d = 0; d < once.size(); ++d)
    if (strides[d] == 0) once[d] = std::min<std::uint64_t>(once[d], 1);
  const StridedCopy in_file = strided_copy(once, strides, strides, element);
  return in_file.run != 0 && in_file.source_span() >= in_file.bytes() + in_file.bytes() / in_file.run * read_cost;
}

std::size_t furthest_dimension(const Shape& shape, const Shape& strides) {
  std::size_t furthest = 0;
  for (std::size_t d = 1; d < shape.size(); ++d)
    if (shape[d] > 1 && (shape[furthest] == 1 || strides[d] > strides[furthest])) furthest = d;
  return furthest;
}

void read_strided(const PosixFile& file, const StridedData& data, std::uint64_t first, std::span<std::byte> out) {
  if (out.empty()) return;
  const Interval elements{first / data.element, ceil_div(first + out.size(), data.element)};
  const std::uint64_t before = first % data.element;
  if (before != 0 || out.size() % data.element != 0) {
    std::vector<std::byte> whole(elements.size() * data.element);
    read_strided(file, data, elements.lo * data.element, whole);
    std::memcpy(out.data(), whole.data() + before, out.size());
    return;
  }
  StridedReader reader(file, data);
  std::byte* target = out.data();
  for_each_box(data.shape, elements, [&](const Box& box) {
    reader.take(box, target);
    target += numel(box.shape()) * data.element;
  });
}

}  // namespace ckpt
