#include "tensor/shape.hpp"

namespace ckpt {

void Shape::resize(std::size_t rank, std::uint64_t value) {
  if (rank > max_rank) throw Error(Kind::input, "", {std::to_string(rank) + " dimensions", "at most 32", ""});
  reserve(rank);
  for (std::size_t i = size_; i < rank; ++i) data()[i] = value;
  size_ = rank;
}

void Shape::reserve(std::size_t rank) {
  if (rank <= few_.size() || many_) return;
  auto many = std::make_unique<std::uint64_t[]>(max_rank);
  std::copy_n(few_.data(), size_, many.get());
  many_ = std::move(many);
}

std::uint64_t numel(const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), 0U) != shape.end()) return 0;
  std::uint64_t product = 1;
  for (const auto extent : shape) product = checked_mul(product, extent, "a tensor's number of elements");
  return product;
}

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::uint64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::uint64_t>(shape[i], 1);
  }
  return strides;
}

}  // namespace ckpt
