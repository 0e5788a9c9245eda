#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tensor/shape.hpp"

namespace ckpt {

/// The shape of a tensor, which never changes: a pointer to extents that are stored once until the process ends, as
/// models have very many tensors of few shapes. Copying and comparing take no memory and no look-up. It is thread-safe.
class InternedShape {
 public:
  InternedShape() noexcept;  ///< of rank 0
  // Implicit, so that a member of this type is assigned like extents.
  InternedShape(const Shape& value);
  InternedShape(std::initializer_list<std::uint64_t> value) : InternedShape(Shape(value)) {}

  const Shape& value() const noexcept { return *value_; }
  operator const Shape&() const noexcept { return *value_; }
  const Shape& to_wire() const noexcept { return *value_; }
  std::size_t size() const noexcept { return value_->size(); }
  bool empty() const noexcept { return value_->empty(); }
  /// Returns this shape with another size in one dimension.
  InternedShape with(std::size_t dim, std::uint64_t size) const;
  std::uint64_t operator[](std::size_t i) const noexcept { return (*value_)[i]; }
  const std::uint64_t* begin() const noexcept { return value_->begin(); }
  const std::uint64_t* end() const noexcept { return value_->end(); }

  friend bool operator==(const InternedShape& a, const InternedShape& b) noexcept { return a.value_ == b.value_; }
  friend bool operator==(const InternedShape& a, const Shape& b) noexcept { return *a.value_ == b; }

 private:
  const Shape* value_;
};

}  // namespace ckpt
