#include "tensor/shape.hpp"

#include "base/kept_once.hpp"

namespace ckpt {

namespace {

struct Hash {
  std::size_t operator()(const Extents& extents) const noexcept {
    std::size_t hash = extents.size();
    for (const std::uint64_t extent : extents) hash = (hash ^ extent) * 0x9E3779B97F4A7C15U;
    return hash ^ (hash >> 32);
  }
};

const Extents rank_0;

}  // namespace

Extents::Extents(const Shape& shape) : Extents(shape.extents()) {}

Shape::Shape() noexcept : extents_(&rank_0) {}

Shape::Shape(const Extents& extents) : extents_(extents.empty() ? &rank_0 : &kept_once<Extents, Hash>(extents)) {}

Shape Shape::with(std::size_t dim, std::uint64_t size) const {
  Extents changed = *extents_;
  changed[dim] = size;
  return changed;
}

}  // namespace ckpt
