#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tensor/extents.hpp"

namespace ckpt {

/// The shape of a tensor, which never changes: a pointer to extents that are stored once until the process ends, as
/// models have very many tensors of few shapes. Copying and comparing take no memory and no look-up. It is thread-safe.
class Shape {
 public:
  Shape() noexcept;  ///< of rank 0
  // Implicit, so that a member of this type is assigned like extents.
  Shape(const Extents& extents);
  Shape(std::initializer_list<std::uint64_t> extents) : Shape(Extents(extents)) {}

  const Extents& extents() const noexcept { return *extents_; }
  operator const Extents&() const noexcept { return *extents_; }
  const Extents& to_wire() const noexcept { return *extents_; }
  std::size_t size() const noexcept { return extents_->size(); }
  bool empty() const noexcept { return extents_->empty(); }
  /// Returns this shape with another size in one dimension.
  Shape with(std::size_t dim, std::uint64_t size) const;
  std::uint64_t operator[](std::size_t i) const noexcept { return (*extents_)[i]; }
  const std::uint64_t* begin() const noexcept { return extents_->begin(); }
  const std::uint64_t* end() const noexcept { return extents_->end(); }

  friend bool operator==(const Shape& a, const Shape& b) noexcept { return a.extents_ == b.extents_; }
  friend bool operator==(const Shape& a, const Extents& b) noexcept { return *a.extents_ == b; }

 private:
  const Extents* extents_;
};

}  // namespace ckpt
