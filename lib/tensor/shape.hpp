#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace ckpt {

/// Limit on the number of dimensions of a tensor (HDF5's own limit).
inline constexpr std::size_t max_rank = 32;

class InternedShape;

/// One number for each dimension of a tensor: a shape, an index, strides. Common ranks need no heap memory.
class Shape {
 public:
  Shape() noexcept = default;
  explicit Shape(std::size_t rank, std::uint64_t value = 0) { resize(rank, value); }
  Shape(std::initializer_list<std::uint64_t> values) { assign(values.begin(), values.end()); }
  explicit Shape(const InternedShape& shape);
  explicit Shape(std::span<const std::uint64_t> values) { assign(values.begin(), values.end()); }
  Shape(const Shape& other) { copy(other); }
  Shape& operator=(const Shape& other) {
    if (this != &other) copy(other);
    return *this;
  }
  Shape(Shape&& other) noexcept { take(other); }
  Shape& operator=(Shape&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~Shape() = default;

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::uint64_t operator[](std::size_t i) const noexcept { return data()[i]; }
  std::uint64_t& operator[](std::size_t i) noexcept { return data()[i]; }
  const std::uint64_t* begin() const noexcept { return data(); }
  const std::uint64_t* end() const noexcept { return data() + size_; }
  std::uint64_t* begin() noexcept { return data(); }
  std::uint64_t* end() noexcept { return data() + size_; }
  const std::uint64_t* data() const noexcept { return many_ ? many_.get() : few_.data(); }

  /// Throws input if `rank` is above max_rank.
  void resize(std::size_t rank, std::uint64_t value = 0);
  void push_back(std::uint64_t value) { resize(size_ + 1, value); }

  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  template <class Iterator>
  void assign(Iterator first, Iterator last) {
    resize(static_cast<std::size_t>(last - first));
    std::copy(first, last, data());
  }
  void copy(const Shape& other) {
    reserve(other.size_);
    size_ = other.size_;
    std::copy(other.begin(), other.end(), data());
  }
  void take(Shape& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    few_ = other.few_;
    many_ = std::move(other.many_);
  }
  /// Reserves room for `rank` numbers, and keeps the existing ones.
  void reserve(std::size_t rank);
  std::uint64_t* data() noexcept { return many_ ? many_.get() : few_.data(); }

  std::size_t size_ = 0;
  std::array<std::uint64_t, 4> few_{};     // small, since a catalog holds several of these for each tensor
  std::unique_ptr<std::uint64_t[]> many_;  // room for max_rank numbers, if there are more than fit into few_
};

/// Returns the number of elements of a shape, checked; 1 for rank 0.
std::uint64_t numel(const Shape& shape);

/// Returns the row-major strides of a shape, in elements.
Shape row_major_strides(const Shape& shape);

/// Returns "[512, 4096]".
inline std::string to_string(const Shape& shape) {
  return format_list(shape);
}

}  // namespace ckpt
