#include "tensor/box.hpp"

namespace ckpt {

bool Box::empty() const noexcept {
  for (std::size_t i = 0; i < rank(); ++i)
    if (hi[i] <= lo[i]) return true;
  return false;
}

Shape Box::shape() const {
  Shape shape(rank());
  for (std::size_t i = 0; i < rank(); ++i) shape[i] = hi[i] - lo[i];
  return shape;
}

Box whole(const Shape& shape) {
  return {Shape(shape.size()), shape};
}

std::optional<Box> intersect(const Box& a, const Box& b) {
  Box shared{Shape(a.rank()), Shape(a.rank())};
  for (std::size_t i = 0; i < a.rank(); ++i) {
    const Interval interval = intersect(a[i], b[i]);
    if (interval.empty()) return std::nullopt;
    shared.set(i, interval);
  }
  return shared;
}

bool contains(const Box& outer, const Box& inner) {
  for (std::size_t i = 0; i < outer.rank(); ++i)
    if (inner.lo[i] < outer.lo[i] || inner.hi[i] > outer.hi[i]) return false;
  return true;
}

std::string to_string(const Box& box) {
  std::string text = "[";
  for (std::size_t i = 0; i < box.rank(); ++i)
    text += (i != 0 ? ", " : "") + std::to_string(box.lo[i]) + ":" + std::to_string(box.hi[i]);
  return text + "]";
}

Box leading_box(const Shape& shape, const Shape& strides, Interval flat) {
  Box box = whole(shape);
  std::uint64_t rest = flat.lo;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::uint64_t index = rest / strides[i];
    rest -= index * strides[i];
    // Whole slices of this dimension start here: takes as many as precede its end and the range's.
    const std::uint64_t slices = std::min(flat.size() / strides[i], shape[i] - index);
    if (rest == 0 && slices > 0) {
      box.set(i, {index, index + slices});
      return box;
    }
    box.set(i, {index, index + 1});
  }
  return box;
}

}  // namespace ckpt
