#include "draft/mesh_factors.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace ckpt::drafting {

namespace {

using Classes = std::vector<std::uint32_t>;

/// Classes numbered in the order in which they first occur.
Classes renumbered(const std::vector<std::uint64_t>& numbers) {
  std::map<std::uint64_t, std::uint32_t> known;
  Classes classes;
  for (const auto number : numbers)
    classes.push_back(known.try_emplace(number, static_cast<std::uint32_t>(known.size())).first->second);
  return classes;
}

Mesh mesh_of(const std::vector<std::uint64_t>& shape) {
  Mesh mesh{{}, shape, {}};
  for (std::size_t a = 0; a < shape.size(); ++a) mesh.axes.push_back("a" + std::to_string(a));
  return mesh;
}

/// Whether each of the patterns is that of the cards' coordinates on some of the axes.
bool is_of_mesh(const Mesh& mesh, const std::set<Classes>& seen) {
  std::set<Classes> possible;
  for (std::uint64_t subset = 0; subset < std::uint64_t{1} << mesh.axes.size(); ++subset) {
    std::vector<std::size_t> axes;
    for (std::size_t a = 0; a < mesh.axes.size(); ++a)
      if ((subset >> a & 1) != 0) axes.push_back(a);
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t position = 0; position < mesh.size(); ++position)
      numbers.push_back(mesh.combination_at(axes, position));
    possible.insert(renumbered(numbers));
  }
  return std::all_of(seen.begin(), seen.end(), [&](const Classes& classes) { return possible.contains(classes); });
}

/// All ways to write a number as an ordered product of `count` factors above 1.
void factorise(std::uint64_t number, std::size_t count, std::vector<std::uint64_t>& factors,
               std::vector<std::vector<std::uint64_t>>& found) {
  if (count == 1) {
    if (number < 2) return;
    factors.push_back(number);
    found.push_back(factors);
    factors.pop_back();
    return;
  }
  for (std::uint64_t factor = 2; factor <= number / 2; ++factor) {
    if (number % factor != 0) continue;
    factors.push_back(factor);
    factorise(number / factor, count - 1, factors, found);
    factors.pop_back();
  }
}

}  // namespace

std::optional<Mesh> mesh_of_classes(const std::vector<std::vector<std::uint32_t>>& classes) {
  constexpr std::size_t most_axes = 5;
  std::set<Classes> seen;
  for (const Classes& of_one : classes) seen.insert(renumbered({of_one.begin(), of_one.end()}));
  std::erase_if(seen, [](const Classes& c) {
    const auto most = *std::max_element(c.begin(), c.end());
    return most == 0 || most + 1 == c.size();
  });
  if (seen.empty()) return std::nullopt;
  for (std::size_t axes = 2; axes <= most_axes; ++axes) {
    std::vector<std::vector<std::uint64_t>> ways;
    std::vector<std::uint64_t> none;
    factorise(seen.begin()->size(), axes, none, ways);
    std::erase_if(ways, [&](const auto& shape) { return !is_of_mesh(mesh_of(shape), seen); });
    if (ways.size() == 1) return mesh_of(ways.front());
    if (ways.size() > 1) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ckpt::drafting
