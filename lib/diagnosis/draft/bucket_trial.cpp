#include "diagnosis/draft/bucket_trial.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "layout/placement/resolve.hpp"

namespace ckpt::drafting {

namespace {

constexpr std::uint64_t largest_padding = 1 << 16;
constexpr std::uint64_t longest_tail = 1 << 20;

Position first_card_with_any(const Placement& placement) {
  Position card = 0;
  while (!placement.holds(card, 0)) ++card;
  return card;
}

}  // namespace

bool BucketTrial::has_length_of(const Bucket& bucket) const {
  try {
    resolved(bucket, holdings_of(bucket));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool BucketTrial::pad(Bucket& bucket, const std::vector<LocatedMember>& members, const FlatBuffer& buffer) const {
  const std::vector<Holding> holdings = holdings_of(bucket);
  const auto is_right = [&] {
    try {
      return fits(resolved(bucket, holdings), bucket, members, buffer);
    } catch (const Error& refused) {
      if (refused.kind() == Kind::io) throw;
      return false;  // pieces of other lengths
    }
  };
  for (bucket.align = 1; bucket.align <= largest_align; bucket.align *= 2)
    for (bucket.multiple_of = 1; bucket.multiple_of <= largest_padding; bucket.multiple_of *= 2)
      for (bucket.multiple_of_each = 1; bucket.multiple_of_each <= 2; ++bucket.multiple_of_each)
        if (is_right()) return true;
  return false;
}

Placement BucketTrial::resolved(const Bucket& bucket, const std::vector<Holding>& holdings) const {
  Layout layout;
  layout.mesh = mesh_;
  layout.buckets = {bucket};
  return resolve_source(layout, holdings).placement;
}

/// The stored name alone, on the bucket's cards.
std::vector<Holding> BucketTrial::holdings_of(const Bucket& bucket) const {
  std::vector<Holding> holdings;
  for (Position card = 0; card < mesh_.size(); ++card) {
    std::vector<StoredArray> held;
    const bool is_here = !bucket.at || std::all_of(bucket.at->begin(), bucket.at->end(), [&](const auto& entry) {
      return mesh_.coordinate(card, entry.first) == entry.second.front();
    });
    if (is_here && facts_.pieces[card].array != nullptr) held.push_back(*facts_.pieces[card].array);
    if (!held.empty()) held.front().name = bucket.name;
    holdings.push_back(std::make_shared<const std::vector<StoredArray>>(std::move(held)));
  }
  return holdings;
}

/// Whether the library puts the members where they were found, with nothing but padding behind them.
bool BucketTrial::fits(const Placement& placement, const Bucket& bucket, const std::vector<LocatedMember>& members,
                       const FlatBuffer& buffer) const {
  const Position first = first_card_with_any(placement);
  const std::uint64_t each = placement.stored_shape(0, first)[0];
  const Placement::BucketSizes sizes = placement.bucket_sizes(0, first);
  if (!is_padding(buffer, {sizes.end, sizes.is_flat ? buffer.starts()[1] : buffer.size()})) return false;
  return std::all_of(members.begin(), members.end(), [&](const LocatedMember& member) {
    const ParameterId parameter = *placement.find(member.name);
    bool is_there = false;
    const Extents origin(placement.tensors()[parameter].shape.size(), 0);
    placement.for_each_shard(parameter, {origin, Extents(origin.size(), 1)}, [&](Position card, const Region& region) {
      is_there = mesh_.coordinate(card, bucket.axis) * each + region.offset == member.offset;
    });
    return is_there;
  });
}

/// Whether elements at the end may be padding: all have one value. Anything else may be a member that was not found.
bool BucketTrial::is_padding(const FlatBuffer& buffer, Interval elements) const {
  if (elements.empty()) return true;
  if (elements.size() > longest_tail) return false;
  const std::uint64_t element = first_array(facts_.pieces).dtype.size;
  std::string bytes(elements.size() * element, '\0');
  buffer.read(elements, std::as_writable_bytes(std::span(bytes)));
  return std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(element), bytes.end(), bytes.begin());
}

}  // namespace ckpt::drafting
