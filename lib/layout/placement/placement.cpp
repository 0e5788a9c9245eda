#include "layout/placement/placement.hpp"

#include <algorithm>
#include <numeric>

namespace ckpt {

std::optional<ParameterId> Placement::find(const std::string& name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const Tensor& tensor, const std::string& key) { return tensor.name < key; });
  if (found == tensors_.end() || found->name != name) return std::nullopt;
  return static_cast<ParameterId>(found - tensors_.begin());
}

bool Placement::holds(Position position, ArrayId array) const {
  if (const auto& boxes = shardings_[arrays_[array].members.front()].boxes) return boxes->held(position) != nullptr;
  const At& at = arrays_[array].at;
  return std::all_of(at.begin(), at.end(), [&](const auto& entry) {
    return std::binary_search(entry.second.begin(), entry.second.end(), mesh().coordinate(position, entry.first));
  });
}

std::optional<Axis> Placement::flat_axis(ParameterId parameter) const {
  const Sharding& sharding = shardings_[parameter];
  if (sharding.bucket) return buckets_[*sharding.bucket].axis;
  if (sharding.flat) return sharding.flat->axis;
  return std::nullopt;
}

std::uint64_t Placement::piece(ParameterId parameter, std::size_t dim, Position position) const {
  return mesh().combination_at(shardings_[parameter].axes[dim], position);
}

Position Placement::position_of_piece(ParameterId parameter, std::size_t dim, std::uint64_t piece) const {
  return mesh().position_of_combination(shardings_[parameter].axes[dim], piece);
}

const Box& Placement::box_on(ParameterId parameter, Position position) const {
  const BoxCover& boxes = *shardings_[parameter].boxes;
  return boxes.box(boxes.held(position)->box);
}

Shape Placement::local_shape(ParameterId parameter, Position position) const {
  const Sharding& sharding = shardings_[parameter];
  Shape shape(sharding.cuts.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t dim = sharding.permute[i];
    shape[i] = sharding.boxes ? box_on(parameter, position)[dim].size()
                              : sharding.cuts[dim]->extent(piece(parameter, dim, position));
  }
  return shape;
}

const Placement::BucketPlace::MemberOffsets& Placement::offsets(const BucketPlace& bucket, Position position) const {
  return bucket.offsets[mesh().combination_at(bucket.axes, position)];
}

Placement::Slice Placement::slice(ParameterId parameter, Position position, const Shape& local) const {
  const Sharding& sharding = shardings_[parameter];
  if (sharding.bucket) {
    const auto& where = offsets(buckets_[*sharding.bucket], position);
    if (!sharding.flat) return {where.bases[sharding.member], where.each, 0};
    return {0, flat_piece(parameter, local), where.bases[sharding.member]};
  }
  return {0, flat_piece(parameter, local), 0};
}

/// Returns the number of elements that a card stores of a local array that is flattened, padded and cut.
std::uint64_t Placement::flat_piece(ParameterId parameter, const Shape& local) const {
  const Flat& flat = *shardings_[parameter].flat;
  const std::uint64_t k = mesh().shape[flat.axis];
  const std::uint64_t step = checked_mul(k, flat.multiple_of, "the padding of a flat");
  return round_up(numel(local), step, "a flat's length") / k;
}

std::uint64_t Placement::stored_length(const BucketPlace& bucket, const BucketPlace::MemberOffsets& where,
                                       std::uint64_t card) const {
  if (!bucket.last_is_short) return where.each;
  const std::uint64_t start = card * where.each;
  return where.end > start ? std::min(where.end - start, where.each) : 0;
}

Placement::BucketSizes Placement::bucket_sizes(ArrayId array, Position position) const {
  const auto& members = arrays_[array].members;
  const BucketPlace& bucket = buckets_[*shardings_[members.front()].bucket];
  const auto& where = offsets(bucket, position);
  const std::uint64_t k = mesh().shape[bucket.axis];
  BucketSizes sizes{0, where.end, k * where.each, bucket.last_is_short ? where.end : k * where.each, bucket.is_flat};
  for (const ParameterId parameter : members) sizes.members += numel(local_shape(parameter, position));
  return sizes;
}

Shape Placement::stored_shape(ArrayId array, Position position) const {
  const ParameterId parameter = arrays_[array].members.front();
  if (arrays_[array].verbatim) return tensors_[parameter].shape;
  if (const auto number = shardings_[parameter].bucket) {
    const BucketPlace& bucket = buckets_[*number];
    return Shape{stored_length(bucket, offsets(bucket, position), mesh().coordinate(position, bucket.axis))};
  }
  const Shape local = local_shape(parameter, position);
  return shardings_[parameter].flat ? Shape{flat_piece(parameter, local)} : local;
}

std::uint64_t Placement::stored_bytes(ArrayId array, Position position) const {
  if (arrays_[array].verbatim || !holds(position, array)) return 0;
  return numel(stored_shape(array, position)) * arrays_[array].dtype.size;
}

Position Placement::lowest_holder(ParameterId parameter, Position first) const {
  const auto all = holders(parameter, first);
  return *std::min_element(all.begin(), all.end(),
                           [&](Position a, Position b) { return mesh().card(a) < mesh().card(b); });
}

void Placement::for_each_region(ArrayId array, Position position, Interval elements, const RegionVisit& visit) const {
  const auto& members = arrays_[array].members;
  const Sharding& sharding = shardings_[members.front()];
  if (!sharding.bucket) return for_each_region_of(members.front(), position, elements, visit);
  // Members lie in order: start at the last one that begins at or before the run.
  const BucketPlace& bucket = buckets_[*sharding.bucket];
  const auto& where = offsets(bucket, position);
  const std::uint64_t start = bucket.is_flat ? 0 : mesh().coordinate(position, bucket.axis) * where.each;
  const auto after = std::upper_bound(where.bases.begin(), where.bases.end(), start + elements.lo);
  for (auto m = static_cast<std::size_t>(after - where.bases.begin()) - (after == where.bases.begin() ? 0 : 1);
       m < members.size() && where.bases[m] < start + elements.hi; ++m)
    for_each_region_of(members[m], position, elements, visit);
}

Interval Placement::run_of(ParameterId parameter, Position position) const {
  const std::uint64_t elements = numel(local_shape(parameter, position));
  const auto axis = flat_axis(parameter);
  if (!axis) return {0, elements};
  const Slice where = slice(parameter, position, local_shape(parameter, position));
  const std::uint64_t start = mesh().coordinate(position, *axis) * where.each;
  const Interval kept = intersect(Interval{start, start + where.each}, Interval{where.base, where.base + elements});
  return kept.empty() ? Interval{} : Interval{kept.lo - start + where.shift, kept.hi - start + where.shift};
}

void Placement::for_each_region_of(ParameterId parameter, Position position, Interval elements,
                                   const RegionVisit& visit) const {
  const Shape local = local_shape(parameter, position);
  const Shape strides = row_major_strides(local);
  Interval flat = elements;  // of the local array
  std::uint64_t origin = 0;  // offset of the local array's element 0 from the stored array's start (mod 2^64)
  if (const auto axis = flat_axis(parameter)) {
    const Slice where = slice(parameter, position, local);
    const std::uint64_t start = mesh().coordinate(position, *axis) * where.each;
    const Interval piece = intersect(elements, Interval{where.shift, where.shift + where.each});
    if (piece.empty()) return;
    const Interval kept = intersect(Interval{start + (piece.lo - where.shift), start + (piece.hi - where.shift)},
                                    Interval{where.base, where.base + numel(local)});
    if (kept.empty()) return;
    flat = {kept.lo - where.base, kept.hi - where.base};
    origin = where.shift + where.base - start;
  }
  for_each_box(local, flat,
               [&](const Box& box) { regions_of_local_box(parameter, position, strides, box, origin, visit); });
}

void Placement::regions_of_local_box(ParameterId parameter, Position position, const Shape& strides, const Box& local,
                                     std::uint64_t origin, const RegionVisit& visit) const {
  const Sharding& sharding = shardings_[parameter];
  const std::size_t rank = local.rank();
  Region region{Box{Shape(rank), Shape(rank)}, 0, Shape(rank), false};
  if (sharding.boxes) {
    const Box& held = box_on(parameter, position);
    region.offset = origin;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::uint64_t first = held.lo[sharding.permute[i]];
      const std::uint64_t end = sharding.cuts[sharding.permute[i]]->size();  // of the elements; what follows is padding
      if (first + local.lo[i] >= end) return;
      region.box.set(sharding.permute[i], {first + local.lo[i], std::min(first + local.hi[i], end)});
      region.strides[sharding.permute[i]] = strides[i];
      region.offset += local.lo[i] * strides[i];
    }
    return visit(parameter, region);
  }
  const auto descend = [&](const auto& self, std::size_t i, std::uint64_t offset, bool fill) -> void {
    if (i == rank) {
      region.offset = offset;
      region.fill = fill;
      visit(parameter, region);
      return;
    }
    const std::size_t dim = sharding.permute[i];
    region.strides[dim] = strides[i];
    sharding.cuts[dim]->for_each_stored(piece(parameter, dim, position), local[i], [&](const Span& span) {
      const Interval kept = intersect(local[i], span.local());
      const std::uint64_t lo = span.logical.lo + (kept.lo - span.stored);
      region.box.set(dim, {lo, lo + kept.size()});
      self(self, i + 1, offset + kept.lo * strides[i], fill || span.fill);
    });
  };
  descend(descend, 0, origin, false);
}

void Placement::for_each_shard(ParameterId parameter, const Box& box, const ShardVisit& visit) const {
  const Sharding& sharding = shardings_[parameter];
  if (sharding.boxes) return for_each_box_shard(parameter, box, visit);
  std::vector<Span> spans(box.rank());
  const auto descend = [&](const auto& self, std::size_t dim, Position first) -> void {
    if (dim == box.rank()) return visit_shard(parameter, first, spans, box, visit);
    sharding.cuts[dim]->for_each_meeting(box[dim], [&](const Span& span) {
      spans[dim] = span;
      self(self, dim + 1, first + position_of_piece(parameter, dim, span.piece));
    });
  };
  descend(descend, 0, base_[parameter]);
}

void Placement::for_each_box_shard(ParameterId parameter, const Box& box, const ShardVisit& visit) const {
  const Sharding& sharding = shardings_[parameter];
  sharding.boxes->for_each_meeting(box, [&](std::size_t number) {
    const Box& held = sharding.boxes->box(number);
    const Position first = sharding.boxes->holders(number).front();
    const Shape strides = row_major_strides(local_shape(parameter, first));
    Region region{held, 0, Shape(held.rank()), false};
    for (std::size_t i = 0; i < held.rank(); ++i) region.strides[sharding.permute[i]] = strides[i];
    visit(first, restricted(region, *intersect(held, box)));
  });
}

/// Visits one combination of spans: a box of one local array, cut again if that lies flat over cards.
void Placement::visit_shard(ParameterId parameter, Position first, const std::vector<Span>& spans, const Box& box,
                            const ShardVisit& visit) const {
  const Sharding& sharding = shardings_[parameter];
  const std::size_t rank = spans.size();
  const Shape shape = local_shape(parameter, first);
  const Shape strides = row_major_strides(shape);
  Region region{Box{Shape(rank), Shape(rank)}, 0, Shape(rank), false};
  Box local{Shape(rank), Shape(rank)};  // in stored order
  Interval flat{0, 1};                  // from the first element of `local` to its last
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t dim = sharding.permute[i];
    const Interval kept = intersect(box[dim], spans[dim].logical);
    const std::uint64_t lo = spans[dim].stored + (kept.lo - spans[dim].logical.lo);
    region.box.set(dim, kept);
    region.strides[dim] = strides[i];
    region.offset += lo * strides[i];
    local.set(i, {lo, lo + kept.size()});
    flat.lo += lo * strides[i];
    flat.hi += (lo + kept.size() - 1) * strides[i];
  }
  const auto axis = flat_axis(parameter);
  if (!axis) return visit(first, region);

  const Slice where = slice(parameter, first, shape);
  const Interval cards{(where.base + flat.lo) / where.each, (where.base + flat.hi - 1) / where.each + 1};
  for (std::uint64_t q = cards.lo; q < cards.hi; ++q) {
    const Position card = first + q * mesh().stride(*axis);
    const std::uint64_t start = q * where.each;
    if (cards.size() == 1) {
      region.offset += where.shift + where.base - start;
      return visit(card, region);
    }
    const Interval here =
        intersect(Interval{start, start + where.each}, Interval{where.base + flat.lo, where.base + flat.hi});
    for_each_box(shape, {here.lo - where.base, here.hi - where.base}, [&](const Box& run) {
      const auto shared = intersect(run, local);
      if (!shared) return;
      Box logical = region.box;
      for (std::size_t i = 0; i < rank; ++i) {
        const std::size_t dim = sharding.permute[i];
        const std::uint64_t lo = region.box.lo[dim] + (shared->lo[i] - local.lo[i]);
        logical.set(dim, {lo, lo + (shared->hi[i] - shared->lo[i])});
      }
      Region part = restricted(region, logical);
      part.offset += where.shift + where.base - start;
      visit(card, part);
    });
  }
}

std::string list_cards(const Mesh& mesh, const std::vector<Position>& positions) {
  std::vector<std::string> ids;
  ids.reserve(positions.size());
  for (const Position position : positions) ids.push_back(std::to_string(mesh.card(position)));
  return join(ids);
}

}  // namespace ckpt
