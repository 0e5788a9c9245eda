#include "diagnosis/draft/mesh_factors.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace ckpt::drafting {

namespace {

/// Renumbers classes in the order in which they first occur.
Classes renumbered(const Classes& classes) {
  std::map<std::uint32_t, std::uint32_t> known{{holds_nothing, holds_nothing}};
  Classes result;
  for (const auto number : classes)
    result.push_back(known.try_emplace(number, static_cast<std::uint32_t>(known.size()) - 1).first->second);
  return result;
}

Mesh mesh_of(const std::vector<std::uint64_t>& shape) {
  Mesh mesh{{}, shape, {}};
  for (std::size_t a = 0; a < shape.size(); ++a) mesh.axes.push_back("a" + std::to_string(a));
  return mesh;
}

/// How many words a rule needs to describe what the cards hold: the coordinates that have it, and the axes along which
/// it differs. Nothing if no rule with `at` and cuts over axes describes it.
std::optional<std::uint64_t> words_for(const Mesh& mesh, const Classes& classes) {
  const auto location = location_of(mesh, classes);
  if (!location) return std::nullopt;
  const std::vector<Axis> differing = differing_axes(mesh, classes);
  std::uint64_t words = differing.size();
  for (const auto& [axis, coordinates] : location->at) words += coordinates.size();
  std::uint64_t pieces = 1;
  for (const Axis axis : differing) {
    const auto limited = location->at.find(axis);
    pieces *= limited == location->at.end() ? mesh.shape[axis] : limited->second.size();
  }
  std::set<std::uint32_t> held(classes.begin(), classes.end());
  held.erase(holds_nothing);
  return held.size() == pieces ? std::optional(words) : std::nullopt;
}

/// words_for, summed over everything that cards hold.
std::optional<std::uint64_t> words_for_all(const Mesh& mesh, const std::set<Classes>& all) {
  std::uint64_t words = 0;
  for (const Classes& classes : all) {
    const auto more = words_for(mesh, classes);
    if (!more) return std::nullopt;
    words += *more;
  }
  return words;
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

std::optional<Mesh> mesh_of_classes(const std::vector<Classes>& classes) {
  constexpr std::size_t most_axes = 5;
  std::set<Classes> seen;
  for (const Classes& of_one : classes) seen.insert(renumbered(of_one));
  if (seen.empty()) return std::nullopt;
  std::vector<std::uint64_t> best;  // empty: several are equally good
  std::uint64_t fewest = ~std::uint64_t{0};
  for (std::size_t axes = 1; axes <= most_axes; ++axes) {
    std::vector<std::vector<std::uint64_t>> ways;
    std::vector<std::uint64_t> none;
    factorise(seen.begin()->size(), axes, none, ways);
    const std::uint64_t fewest_before = fewest;
    for (const auto& shape : ways) {
      const auto words = words_for_all(mesh_of(shape), seen);
      if (!words || *words > fewest || *words == fewest_before) continue;
      best = *words < fewest ? shape : std::vector<std::uint64_t>{};
      fewest = *words;
    }
  }
  return best.size() > 1 ? std::optional(mesh_of(best)) : std::nullopt;
}

}  // namespace ckpt::drafting
