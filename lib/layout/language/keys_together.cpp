#include "layout/language/keys_together.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "layout/language/parse_node.hpp"

namespace ckpt {

namespace {

using parsing::product;
using parsing::sum;

std::string dimensions(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " dimension" : " dimensions");
}

std::string of_dimension(std::size_t dim) {
  return " for dimension " + std::to_string(dim);
}

class KeysCheck {
 public:
  KeysCheck(const Keys& keys, const KeysContext& context, const RefuseKeys& refuse)
      : keys_(keys),
        mesh_(context.mesh),
        refuse_(refuse),
        rank_of_tensor_(context.rank),
        knows_split_(keys.split.has_value() || context.is_whole) {}

  void run() const {
    check_boxes_alone();
    check_rank();
    check_flat();
    check_one_cut_each();
    if (keys_.sizes)
      for (const auto& [dim, sizes] : *keys_.sizes) check_sizes(dim, sizes);
    if (keys_.pad)
      for (const auto& [dim, pad] : *keys_.pad) check_pad(dim, pad);
    if (keys_.parts) check_parts(*keys_.parts);
  }

 private:
  using Path = std::vector<std::string>;

  static Path entry(const char* key, std::size_t dim) { return {key, std::to_string(dim)}; }

  /// Returns into how many pieces the dimension is cut. It cannot overflow: the mesh has at most max_cards positions.
  std::uint64_t ways(std::size_t dim) const {
    std::uint64_t result = 1;
    if (keys_.split && dim < keys_.split->size())
      for (const Axis axis : (*keys_.split)[dim]) result *= mesh_.shape[axis];
    return result;
  }

  void check_boxes_alone() const {
    if (keys_.grid && !keys_.boxes) refuse_({"grid"}, "\"grid\" without \"boxes\"", "boxes that count its pieces");
    if (!keys_.boxes) return;
    const auto refuse_beside = [&](const char* other, bool is_there) {
      if (is_there)
        refuse_({other}, "\"" + std::string(other) + "\" beside \"boxes\"",
                R"("boxes" alone, with "grid" or "pad", "shape", "permute" and "replicas" at most)");
    };
    refuse_beside("split", keys_.split.has_value());
    refuse_beside("uneven", keys_.uneven.has_value());
    refuse_beside("sizes", keys_.sizes.has_value());
    refuse_beside("parts", keys_.parts.has_value());
    refuse_beside("pad", keys_.pad && keys_.grid);
    refuse_beside("flat", keys_.flat.has_value());
    refuse_beside("at", keys_.at.has_value());
  }

  /// Every key that determines the number of dimensions, or needs at least one, must agree with the others.
  void check_rank() const {
    if (rank_of_tensor_)
      check_rank(*rank_of_tensor_, "the tensor has");
    else if (keys_.boxes)
      check_rank(keys_.boxes->begin()->second.rank(), R"("boxes" have)");
    else if (keys_.shape)
      check_rank(keys_.shape->size(), R"("shape" has)");
    else if (keys_.permute)
      check_rank(keys_.permute->size(), R"("permute" has)");
  }

  void check_rank(std::size_t rank, const char* teller) const {
    const auto check_same = [&](const char* key, std::size_t has) {
      if (has != rank) refuse_({key}, dimensions(has), std::to_string(rank) + ", as " + teller);
    };
    const auto check_dim = [&](Path place, std::size_t dim) {
      if (dim >= rank)
        refuse_(place, "dimension " + std::to_string(dim),
                "one below " + std::to_string(rank) + ", as " + teller + " that many");
    };
    if (keys_.boxes) check_same("boxes", keys_.boxes->begin()->second.rank());
    if (keys_.grid) check_same("grid", keys_.grid->size());
    if (keys_.shape) check_same("shape", keys_.shape->size());
    if (keys_.permute) check_same("permute", keys_.permute->size());
    if (keys_.split && keys_.split->size() > rank)
      refuse_({"split"}, dimensions(keys_.split->size()), "at most " + std::to_string(rank) + ", as " + teller);
    if (keys_.sizes)
      for (const auto& [dim, sizes] : *keys_.sizes) check_dim(entry("sizes", dim), dim);
    if (keys_.pad)
      for (const auto& [dim, pad] : *keys_.pad) check_dim(entry("pad", dim), dim);
    if (keys_.parts) check_dim({"parts", "dim"}, keys_.parts->dim);
  }

  void check_flat() const {
    if (!keys_.flat || !keys_.split) return;
    for (const auto& axes : *keys_.split)
      if (std::find(axes.begin(), axes.end(), keys_.flat->axis) != axes.end())
        refuse_({"flat", "axis"}, "the axis " + mesh_.axes[keys_.flat->axis] + ", over which \"split\" cuts",
                "one that is not yet used");
  }

  void check_one_cut_each() const {
    const auto fail = [&](std::size_t dim, const std::string& two) {
      refuse_({}, two + of_dimension(dim), R"(at most one of "sizes", "parts" and "pad" on one dimension)");
    };
    if (keys_.sizes && keys_.pad)
      for (const auto& [dim, pad] : *keys_.pad)
        if (keys_.sizes->contains(dim)) fail(dim, R"("sizes" and "pad")");
    if (keys_.parts && keys_.sizes && keys_.sizes->contains(keys_.parts->dim))
      fail(keys_.parts->dim, R"("sizes" and "parts")");
    if (keys_.parts && keys_.pad && keys_.pad->contains(keys_.parts->dim))
      fail(keys_.parts->dim, R"("parts" and "pad")");
  }

  void check_sizes(std::size_t dim, const std::vector<std::uint64_t>& sizes) const {
    if (knows_split_ && sizes.size() != ways(dim))
      refuse_(entry("sizes", dim), std::to_string(sizes.size()) + " sizes",
              std::to_string(ways(dim)) + ", one for each way that \"split\" cuts dimension " + std::to_string(dim));
    check_extent(entry("sizes", dim), dim, *sum(sizes));
  }

  void check_pad(std::size_t dim, const Pad& pad) const {
    if (keys_.boxes && (pad.multiple_of != 1 || pad.fill != Fill::zero))
      refuse_(entry("pad", dim), R"("multiple_of" or "fill" beside "boxes")",
              R"("size" alone: boxes say how far they reach beyond it, and are filled with zeros)");
    const auto step = knows_split_ ? product({pad.multiple_of, ways(dim)}) : pad.multiple_of;
    if (!step || !product({ceil_div(pad.size, *step), *step}))
      refuse_(entry("pad", dim), "a padded size of 2^64 or more", R"(a smaller "size" or "multiple_of")");
    check_extent(entry("pad", dim), dim, pad.size);
  }

  void check_parts(const Parts& parts) const {
    if (parts.count == 0) return check_extent({"parts"}, parts.dim, *sum(parts.sizes));
    if (keys_.shape && parts.dim < keys_.shape->size() && (*keys_.shape)[parts.dim] % parts.count != 0)
      refuse_(
          {"parts", "count"}, std::to_string(parts.count) + " equal parts",
          "a number that divides " + std::to_string((*keys_.shape)[parts.dim]) + ", the dimension's size in \"shape\"");
  }

  /// A size that a key gives for a dimension must agree with `shape`.
  void check_extent(const Path& place, std::size_t dim, std::uint64_t size) const {
    if (keys_.shape && dim < keys_.shape->size() && (*keys_.shape)[dim] != size)
      refuse_(place, "a total of " + std::to_string(size) + of_dimension(dim),
              std::to_string((*keys_.shape)[dim]) + " as \"shape\" says");
  }

  const Keys& keys_;
  const Mesh& mesh_;
  const RefuseKeys& refuse_;
  std::optional<std::size_t> rank_of_tensor_;
  bool knows_split_;
};

}  // namespace

void check_keys_together(const Keys& keys, const KeysContext& context, const RefuseKeys& refuse) {
  KeysCheck(keys, context, refuse).run();
}

}  // namespace ckpt
