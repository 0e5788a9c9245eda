#include "tensor/interned_shape.hpp"

#include "base/intern.hpp"

namespace ckpt {

namespace {

struct Hash {
  std::size_t operator()(const Shape& value) const noexcept {
    std::size_t hash = value.size();
    for (const std::uint64_t extent : value) hash = (hash ^ extent) * 0x9E3779B97F4A7C15U;
    return hash ^ (hash >> 32);
  }
};

const Shape rank_0;

}  // namespace

Shape::Shape(const InternedShape& shape) : Shape(shape.value()) {}

InternedShape::InternedShape() noexcept : value_(&rank_0) {}

InternedShape::InternedShape(const Shape& value) : value_(value.empty() ? &rank_0 : &intern<Shape, Hash>(value)) {}

InternedShape InternedShape::with(std::size_t dim, std::uint64_t size) const {
  Shape changed = *value_;
  changed[dim] = size;
  return changed;
}

}  // namespace ckpt
