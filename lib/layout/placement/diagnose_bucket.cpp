#include <algorithm>
#include <numeric>
#include <optional>

#include "layout/placement/diagnose.hpp"

namespace ckpt {

namespace {

const Bucket& description(const Placement& placement, ArrayId array) {
  return placement.layout().buckets[*placement.shardings()[placement.arrays()[array].members.front()].bucket];
}

/// Describes the padding in the layout's words.
std::string padding_of(const Bucket& bucket, const std::string& axis) {
  std::string text;
  if (bucket.multiple_of > 1) text += " a multiple of " + std::to_string(bucket.multiple_of) + " and";
  if (bucket.multiple_of_each > 1)
    return text + " a multiple of " + std::to_string(bucket.multiple_of_each) + " x " + axis;
  return text + " a multiple of " + axis;
}

/// Describes how the layout computes the length of a bucket's pieces.
std::string describe_bucket(const Placement& placement, ArrayId array, Position position) {
  const Bucket& bucket = description(placement, array);
  const Placement::BucketSizes sizes = placement.bucket_sizes(array, position);
  const std::size_t count = placement.arrays()[array].members.size();
  const std::string axis = placement.mesh().axes[bucket.axis];
  const std::string k = std::to_string(placement.mesh().shape[bucket.axis]);
  std::string text = "bucket \"" + bucket.name + "\": " + std::to_string(count) +
                     (count == 1 ? " member" : " members") + " of " + std::to_string(sizes.members) +
                     " elements together";
  if (sizes.is_flat) text += ", each cut over " + axis + "=" + k;
  if (bucket.align > 1)
    text += ", each at a multiple of " + std::to_string(bucket.align) + ", up to " + std::to_string(sizes.end);
  text += ", padded to " + std::to_string(sizes.padded) + "," + padding_of(bucket, axis + "=" + k);
  if (!sizes.is_flat) text += ", in " + k + " pieces";
  return bucket.last_is_short ? text + ", the last without the padding" : text;
}

/// Returns the number of a member's elements before the bucket is cut.
std::uint64_t length_of(const Placement& placement, ParameterId member, Position position) {
  const Sharding& sharding = placement.shardings()[member];
  std::uint64_t length = 1;
  for (std::size_t d = 0; d < sharding.cuts.size(); ++d)
    length *= sharding.cuts[d]->extent(placement.mesh().combination_at(sharding.axes[d], position));
  return length;
}

/// Returns the smallest other "align" with which the members would give pieces of this length, or nothing.
std::optional<std::uint64_t> fitting_align(const Placement& placement, ArrayId array, Position position,
                                           std::uint64_t found) {
  constexpr std::uint64_t most = 65536;
  const Bucket& bucket = description(placement, array);
  const std::uint64_t k = placement.mesh().shape[bucket.axis];
  const std::uint64_t step = std::lcm(bucket.multiple_of, bucket.multiple_of_each * k);
  for (std::uint64_t align = 1; align <= most; align *= 2) {
    if (align == bucket.align) continue;
    std::uint64_t end = 0;
    for (const ParameterId member : placement.arrays()[array].members)
      end = (end + align - 1) / align * align + length_of(placement, member, position);
    if ((end + step - 1) / step * step / k == found) return align;
  }
  return std::nullopt;
}

/// Explains why the pieces were found with these lengths (by coordinate; -1: absent, or not of one dimension), or
/// returns an empty text.
std::string explain_lengths(const Placement& placement, ArrayId array, Position position,
                            const std::vector<std::int64_t>& found) {
  const Bucket& bucket = description(placement, array);
  const Placement::BucketSizes sizes = placement.bucket_sizes(array, position);
  if (std::find(found.begin(), found.end(), -1) != found.end()) return "";
  const auto total = static_cast<std::uint64_t>(std::accumulate(found.begin(), found.end(), std::int64_t{0}));
  const auto k = static_cast<std::uint64_t>(found.size());
  const bool is_even = std::adjacent_find(found.begin(), found.end(), std::not_equal_to<>()) == found.end();
  if (!sizes.is_flat && !is_even && total == sizes.end && !bucket.last_is_short)
    return R"(is the padding left out on the last card ("last": "short")?)";
  const std::string all = "all " + std::to_string(k) + " pieces hold " + std::to_string(total);
  if (bucket.last_is_short && is_even && total == sizes.padded)
    return all + R"(: is "last": "short" one word too many?)";
  std::string fit;
  if (is_even && !sizes.is_flat)
    if (const auto align = fitting_align(placement, array, position, total / k))
      fit = "\"align\": " + std::to_string(*align) + " would fit; else ";
  const std::uint64_t members = sizes.is_flat ? sizes.end * k : sizes.end;
  if (total < members)
    return all + ", less than the members: " + fit + "are their names and shapes those of this bucket?";
  if (!is_even) return "pieces of one bucket are equal (but for a short last one): are the files of one checkpoint?";
  return all + ", " + std::to_string(total - members) + " more than the members: " + fit +
         "is the padding another (\"multiple_of\", \"multiple_of_each\"), or a member missing?";
}

}  // namespace

Error::Text explain_piece(const Placement& placement, ArrayId array, Position position,
                          const std::function<const StoredArray*(Position)>& found) {
  const Mesh& mesh = placement.mesh();
  const Axis axis = description(placement, array).axis;
  const Position first = position - mesh.coordinate(position, axis) * mesh.stride(axis);
  std::vector<std::int64_t> lengths;
  std::vector<Position> others;
  for (std::uint64_t c = 0; c < mesh.shape[axis]; ++c) {
    const Position card = first + c * mesh.stride(axis);
    const StoredArray* piece = found(card);
    lengths.push_back(piece != nullptr && piece->shape.size() == 1 ? static_cast<std::int64_t>(piece->shape[0]) : -1);
    if (piece == nullptr || !(piece->shape == placement.stored_shape(array, card))) others.push_back(card);
  }
  std::string remedy = others.size() == lengths.size() ? "so are all cards of the axis"
                                                       : "cards that differ: " + list_cards(mesh, others);
  if (const auto reason = explain_lengths(placement, array, position, lengths); !reason.empty())
    remedy += "; " + reason;
  return {"stored shape " + to_string(found(position)->shape),
          to_string(placement.stored_shape(array, position)) + " by " + placement.layout().origin + " (" +
              describe_bucket(placement, array, position) + ")",
          remedy};
}

}  // namespace ckpt
