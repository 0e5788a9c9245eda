#include "layout/language/mesh.hpp"

#include <algorithm>
#include <numeric>

namespace ckpt {

std::uint64_t Mesh::size() const noexcept {
  std::uint64_t product = 1;
  for (const auto extent : shape) product *= extent;
  return product;
}

std::uint64_t Mesh::stride(std::size_t axis) const noexcept {
  std::uint64_t product = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) product *= shape[i];
  return product;
}

std::uint64_t Mesh::coordinate(std::uint64_t position, std::size_t axis) const noexcept {
  return position / stride(axis) % shape[axis];
}

std::vector<std::uint64_t> Mesh::coordinates(std::uint64_t position) const {
  std::vector<std::uint64_t> result(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    result[i] = position % shape[i];
    position /= shape[i];
  }
  return result;
}

std::uint64_t Mesh::combinations(const std::vector<std::size_t>& of_axes) const noexcept {
  std::uint64_t product = 1;
  for (const auto axis : of_axes) product *= shape[axis];
  return product;
}

std::uint64_t Mesh::combination(const std::vector<std::size_t>& of_axes,
                                const std::vector<std::uint64_t>& coordinates_of_card) const noexcept {
  std::uint64_t number = 0;
  for (const auto axis : of_axes) number = number * shape[axis] + coordinates_of_card[axis];
  return number;
}

std::uint64_t Mesh::combination_at(const std::vector<std::size_t>& of_axes, std::uint64_t position) const noexcept {
  std::uint64_t number = 0;
  for (const auto axis : of_axes) number = number * shape[axis] + coordinate(position, axis);
  return number;
}

std::uint64_t Mesh::position_of_combination(const std::vector<std::size_t>& of_axes,
                                            std::uint64_t number) const noexcept {
  std::uint64_t position = 0;
  for (std::size_t i = of_axes.size(); i-- > 0; number /= shape[of_axes[i]])
    position += number % shape[of_axes[i]] * stride(of_axes[i]);
  return position;
}

std::vector<std::uint64_t> Mesh::by_card() const {
  std::vector<std::uint64_t> positions(size());
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  if (!cards.empty())
    std::sort(positions.begin(), positions.end(), [this](auto a, auto b) { return cards[a] < cards[b]; });
  return positions;
}

std::optional<std::size_t> Mesh::axis(const std::string& name) const noexcept {
  const auto found = std::find(axes.begin(), axes.end(), name);
  if (found == axes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - axes.begin());
}

}  // namespace ckpt
