#include "layout/placement/placement_builder.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "layout/language/keys_together.hpp"
#include "layout/names/rule_use.hpp"

namespace ckpt {

CutPlan PlacementBuilder::plan(const Keys& keys, std::size_t rank, const std::string& where) const {
  const Mesh& mesh = layout().mesh;
  check_keys_together(keys, {mesh, rank}, [&](const auto& path, const auto& found, const auto& expected) {
    std::string place;
    for (const std::string& key : path) place += (place.empty() ? "" : "/") + key;
    throw Error(Kind::layout, place.empty() ? where : where + ": " + place, {"found " + found, expected, ""});
  });
  CutPlan plan;
  plan.dims.resize(rank);
  for (CutSpec& spec : plan.dims) spec.uneven = keys.uneven.value_or(Uneven::exact);
  if (keys.split)
    for (std::size_t d = 0; d < keys.split->size(); ++d)
      for (const Axis axis : (*keys.split)[d]) {
        plan.dims[d].axes.push_back(axis);
        plan.dims[d].counts.push_back(mesh.shape[axis]);
      }
  if (keys.sizes)
    for (const auto& [d, sizes] : *keys.sizes) plan.dims[d].sizes = sizes;
  if (keys.parts) plan.dims[keys.parts->dim].parts = keys.parts;
  if (keys.pad)
    for (const auto& [d, pad] : *keys.pad) plan.dims[d].pad = pad;
  plan.permute.resize(rank);
  std::iota(plan.permute.begin(), plan.permute.end(), std::size_t{0});
  if (keys.permute) plan.permute = *keys.permute;
  return plan;
}

std::shared_ptr<const DimCut> PlacementBuilder::cut(std::uint64_t size, const CutSpec& spec) {
  CutSpec key = spec;
  key.axes.clear();  // one cut serves any axes of these sizes
  if (key.parts) key.parts->dim = 0;
  auto& known = cuts_[{key, size}];
  if (!known) known = std::make_shared<const DimCut>(size, spec);
  return known;
}

std::string PlacementBuilder::over(const CutSpec& spec) const {
  std::string text;
  for (std::size_t i = 0; i < spec.axes.size(); ++i)
    text += (i == 0 ? " over " : ", ") + layout().mesh.axes[spec.axes[i]] + "=" + std::to_string(spec.counts[i]);
  return text;
}

void PlacementBuilder::reserve(std::size_t tensors) {
  placement_.tensors_.reserve(tensors);
  placement_.shardings_.reserve(tensors);
  placement_.arrays_.reserve(tensors);
}

std::shared_ptr<const Sharding> PlacementBuilder::shared(Sharding sharding) {
  if (sharding.bucket) return std::make_shared<const Sharding>(std::move(sharding));  // every member differs
  auto& known = known_shardings_[sharding];
  if (!known) known = std::make_shared<const Sharding>(std::move(sharding));
  return known;
}

ParameterId PlacementBuilder::add_sharding(Tensor tensor, Sharding sharding, const Keys& keys, const CutPlan& plan,
                                           const std::string& where) {
  sharding.permute = plan.permute;
  sharding.flat = keys.flat;
  sharding.replicas = keys.replicas.value_or(Replicas::check);
  for (std::size_t d = 0; d < plan.dims.size(); ++d) {
    try {
      sharding.cuts.push_back(cut(tensor.shape[d], plan.dims[d]));
    } catch (Error& error) {
      const bool is_exact = plan.dims[d].uneven == Uneven::exact && plan.dims[d].sizes.empty() && !plan.dims[d].pad;
      error.of_kind(Kind::layout)
          .within("dimension " + std::to_string(d) + " of " + to_string(tensor.shape) + over(plan.dims[d]))
          .within(where)
          .advise(is_exact ? R"(say how it is cut unevenly ("uneven": "ceil" or "balanced", "sizes" or "pad"))" : "",
                  is_exact && layout().is_on_other_mesh ? Advice{Advice::What::say_uneven, ""} : Advice{});
      throw;
    }
    sharding.axes.push_back(plan.dims[d].axes);
  }
  if (keys.boxes) sharding.boxes = cover(keys, tensor.shape, where);
  const bool is_cut =
      sharding.flat || keys.pad || keys.permute || keys.boxes ||
      std::any_of(sharding.axes.begin(), sharding.axes.end(), [](const auto& axes) { return !axes.empty(); });
  if (tensor.verbatim && is_cut)
    throw Error(Kind::layout, where,
                {"its elements have no fixed size (variable-length strings or an empty dataspace)",
                 "a rule that replicates it",
                 "give it a rule without split",
                 {Advice::What::leave_out, ""}});
  tensor.bytes();  // throws if the size overflows
  placement_.tensors_.push_back(std::move(tensor));
  placement_.shardings_.push_back(shared(std::move(sharding)));
  return static_cast<ParameterId>(placement_.tensors_.size() - 1);
}

void PlacementBuilder::add(Tensor tensor, const Decision& decision, const CutPlan& plan, StoredName stored,
                           const std::string& where) {
  ArrayPlace array;
  array.name = std::move(stored.name);
  array.dtype = tensor.dtype;
  array.verbatim = tensor.verbatim;
  array.at = at_of(decision.keys, array.name, stored.at);
  for (const auto& [axis, coordinates] : array.at)
    if (coordinates.empty())
      throw Error(
          Kind::layout, where,
          {"at, indices and files leave it no card on axis \"" + layout().mesh.axes[axis] + "\"", "at least one", ""});
  std::vector<Axis> cut_over;
  for (const CutSpec& spec : plan.dims) cut_over.insert(cut_over.end(), spec.axes.begin(), spec.axes.end());
  if (decision.keys.flat) cut_over.push_back(decision.keys.flat->axis);
  check_not_shared(cut_over, array.name, where);
  Sharding sharding;
  sharding.rule = decision.rule;
  const ParameterId parameter = add_sharding(std::move(tensor), std::move(sharding), decision.keys, plan, where);
  if (const auto& boxes = placement_.shardings_[parameter].boxes) check_at_of_boxes(*boxes, array.at, where);
  array.members = {parameter};
  placement_.array_of_.push_back(static_cast<ArrayId>(placement_.arrays_.size()));
  placement_.arrays_.push_back(std::move(array));
}

void PlacementBuilder::add_member(Tensor tensor, Membership membership, const Keys& keys,
                                  const std::string& stored_name, const std::string& where) {
  const Bucket& description = layout().buckets[membership.bucket];
  const CutPlan cut_plan = plan(keys, tensor.shape.size(), where);
  const auto [known, is_new] =
      bucket_arrays_.try_emplace(membership.bucket, static_cast<ArrayId>(placement_.arrays_.size()));
  if (is_new)
    placement_.arrays_.push_back(
        {stored_name, tensor.dtype, both(description.at.value_or(At{}), shared_at(stored_name)), {}, false});
  std::vector<Axis> cut_over{description.axis};
  for (const CutSpec& spec : cut_plan.dims) cut_over.insert(cut_over.end(), spec.axes.begin(), spec.axes.end());
  check_not_shared(cut_over, stored_name, where);
  ArrayPlace& array = placement_.arrays_[known->second];
  if (!(array.dtype == tensor.dtype))
    throw Error(Kind::layout, where,
                {"its dtype is " + tensor.dtype.name, array.dtype.name + ", as of the bucket's other members",
                 "all members of a bucket have one dtype"});
  Sharding sharding;
  sharding.bucket = membership.bucket;
  sharding.member = membership.member;
  const ParameterId parameter = add_sharding(std::move(tensor), std::move(sharding), keys, cut_plan, where);
  array.members.push_back(parameter);
  placement_.array_of_.push_back(known->second);
}

/// Members that are cut first and members that are laid out first have no common order of elements.
void PlacementBuilder::check_alike(std::uint32_t bucket, const std::vector<ParameterId>& members) const {
  const auto& shardings = placement_.shardings_;
  const auto is_flat = [&](ParameterId parameter) { return shardings[parameter].flat.has_value(); };
  const auto flat = std::find_if(members.begin(), members.end(), is_flat);
  if (flat == members.end()) return;
  const auto other = std::find_if_not(members.begin(), members.end(), is_flat);
  if (other != members.end())
    throw Error(Kind::layout, where(*other),
                {"it has no \"flat\", and '" + placement_.tensors_[*flat].name + "' of its bucket has",
                 "all members of a bucket with it, or none", ""});
  if (layout().buckets[bucket].last_is_short)
    throw Error(Kind::layout, where(*flat),
                {R"(it has "flat", and its bucket "last": "short")", "one of the two",
                 "the padding of pieces that are cut first lies on every card"});
}

/// Places a bucket's members one after another, for each combination of coordinates that changes their lengths.
void PlacementBuilder::place_members(std::uint32_t bucket, ArrayId array) {
  const Bucket& description = layout().buckets[bucket];
  const Mesh& mesh = layout().mesh;
  Placement::BucketPlace& place = placement_.buckets_[bucket];
  auto& members = placement_.arrays_[array].members;
  std::sort(members.begin(), members.end(),
            [&](auto a, auto b) { return placement_.shardings_[a].member < placement_.shardings_[b].member; });
  check_alike(bucket, members);
  std::set<Axis> axes;
  for (const ParameterId parameter : members)
    for (const auto& of_dim : placement_.shardings_[parameter].axes) axes.insert(of_dim.begin(), of_dim.end());
  place.axis = description.axis;
  place.axes.assign(axes.begin(), axes.end());
  place.is_flat = placement_.shardings_[members.front()].flat.has_value();
  place.last_is_short = description.last_is_short;
  for (std::uint64_t c = 0; c < mesh.combinations(place.axes); ++c)
    place_members_at(mesh.position_of_combination(place.axes, c), description, members, place);
}

void PlacementBuilder::place_members_at(Position position, const Bucket& bucket,
                                        const std::vector<ParameterId>& members, Placement::BucketPlace& place) const {
  const std::uint64_t k = layout().mesh.shape[bucket.axis];
  const std::uint64_t cards = checked_mul(bucket.multiple_of_each, k, "a bucket's padding");
  const std::uint64_t step =
      checked_mul(bucket.multiple_of / std::gcd(bucket.multiple_of, cards), cards, "a bucket's padding");
  Placement::BucketPlace::MemberOffsets offsets;
  for (const ParameterId parameter : members) {
    const Shape local = placement_.local_shape(parameter, position);
    const std::uint64_t length = place.is_flat ? placement_.flat_piece(parameter, local) : numel(local);
    offsets.bases.push_back(round_up(offsets.end, bucket.align, "a bucket's length"));
    offsets.end = checked_add(offsets.bases.back(), length, "a bucket's length");
  }
  const std::uint64_t all = place.is_flat ? checked_mul(offsets.end, k, "a bucket's length") : offsets.end;
  offsets.each = round_up(all, step, "a bucket's length") / k;
  place.offsets.push_back(std::move(offsets));
}

/// An axis that cuts a tensor and is also limited by `at` leaves pieces without a card, which is allowed only if they
/// are empty.
void PlacementBuilder::check_held(ParameterId parameter) const {
  const Sharding& sharding = placement_.shardings_[parameter];
  const ArrayId array = placement_.array_of_[parameter];
  const At& at = placement_.arrays_[array].at;
  const auto refuse = [&](Axis axis) {
    return Error(Kind::layout, where(parameter),
                 {"it is cut over \"" + layout().mesh.axes[axis] + "\" but lives only at " + format_list(at.at(axis)) +
                      " of that axis",
                  "every piece on a card", "cut over another axis, or let it live on all of this one"});
  };
  if (at.empty() || sharding.boxes || numel(placement_.tensors_[parameter].shape) == 0) return;
  for (std::size_t d = 0; d < sharding.axes.size(); ++d)
    for (std::uint64_t p = 0; p < sharding.cuts[d]->pieces(); ++p) {
      if (!sharding.cuts[d]->has_spans(p)) continue;
      const Position position = placement_.position_of_piece(parameter, d, p);
      for (const Axis axis : sharding.axes[d])
        if (const auto found = at.find(axis);
            found != at.end() &&
            !std::binary_search(found->second.begin(), found->second.end(), layout().mesh.coordinate(position, axis)))
          throw refuse(axis);
    }
  if (const auto axis = placement_.flat_axis(parameter))
    if (const auto found = at.find(*axis); found != at.end() && found->second.size() != layout().mesh.shape[*axis])
      throw refuse(*axis);
}

std::string PlacementBuilder::where(ParameterId parameter) const {
  const std::string& name = placement_.tensors_[parameter].name;
  const Sharding& sharding = placement_.shardings_[parameter];
  return sharding.bucket ? describe_member(layout(), name, layout().buckets[*sharding.bucket])
                         : describe(layout(), name, sharding.rule);
}

/// Padding can turn a small tensor into an array whose size overflows.
void PlacementBuilder::check_size(ParameterId parameter) const {
  const Sharding& sharding = placement_.shardings_[parameter];
  Shape largest;
  for (const auto& cut : sharding.cuts) largest.push_back(cut->largest());
  if (const auto& boxes = sharding.boxes)
    for (std::size_t number = 0; number < boxes->size(); ++number)
      for (std::size_t d = 0; d < largest.size(); ++d) largest[d] = std::max(largest[d], boxes->box(number)[d].size());
  try {
    std::uint64_t elements = numel(largest);
    if (sharding.flat) {
      const std::uint64_t step =
          checked_mul(layout().mesh.shape[sharding.flat->axis], sharding.flat->multiple_of, "a flat");
      elements = round_up(elements, step, "a flat");
    }
    if (checked_mul(elements, placement_.tensors_[parameter].dtype.size, "an array") >> 62U != 0)
      throw Error(Kind::layout, "an array is 2^62 bytes or more");
  } catch (Error& error) {
    error.of_kind(Kind::layout)
        .within("stored on one card")
        .within(where(parameter))
        .advise("check pad and multiple_of");
    throw;
  }
}

void PlacementBuilder::set_base(ParameterId parameter) {
  if (placement_.shardings_[parameter].boxes) {
    placement_.base_.push_back(placement_.replica_bases(parameter).front());
    return;
  }
  Position base = 0;
  for (const auto& [axis, coordinates] : placement_.free_axes(parameter))
    base += coordinates.front() * layout().mesh.stride(axis);
  placement_.base_.push_back(base);
}

void PlacementBuilder::find_equalities() {
  for (const auto& [parameter, name] : equals_) {
    const auto other = placement_.find(name);
    if (!other) continue;
    const Shape& shape = placement_.tensors_[parameter].shape;
    if (const Shape& theirs = placement_.tensors_[*other].shape; !(shape == theirs))
      throw Error(
          Kind::layout, where(parameter),
          {"its logical shape is " + to_string(shape),
           to_string(theirs) + ", as of '" + name + "', which it \"equals\"", "the rule of one of the two is wrong"});
    placement_.equalities_.push_back({parameter, *other});
  }
}

Placement PlacementBuilder::finish() {
  placement_.buckets_.resize(layout().buckets.size());
  for (const auto& [bucket, array] : bucket_arrays_) place_members(bucket, array);
  for (ParameterId parameter = 0; parameter < placement_.tensors_.size(); ++parameter) {
    check_held(parameter);
    set_base(parameter);
    check_size(parameter);
  }
  find_equalities();
  return std::move(placement_);
}

void drop_cuts(Keys& keys) {
  if (keys.boxes || (keys.flat && keys.shape)) return;
  keys = keys.without_cuts();
}

}  // namespace ckpt
