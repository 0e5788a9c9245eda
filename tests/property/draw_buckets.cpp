#include <algorithm>

#include "property/generator.hpp"

namespace model {

namespace {

class BucketDrawer {
 public:
  BucketDrawer(Choices& choices, Layout& layout, const std::vector<Tensor>& tensors, std::set<std::string>& features)
      : choices_(choices), layout_(layout), tensors_(tensors), features_(features) {}

  void draw() {
    std::vector<std::size_t> order;
    for (std::size_t t = 0; t < tensors_.size(); ++t) order.push_back(t);
    choices_.shuffle(order);
    const std::uint64_t most = choices_.between(1, 3);
    for (const std::size_t seed : order) {
      if (layout_.buckets.size() == most) break;
      if (layout_.keys[seed]) draw_bucket(seed, order);
    }
  }

 private:
  /// Where a tensor's indices put it: axis and coordinate.
  At implied(const Tensor& tensor) const {
    At at;
    for (const NamePart& part : tensor.parts)
      for (const Index& index : layout_.indices) {
        if (index.counter != part.counter) continue;
        const auto held = blocks(layout_.mesh, index);
        for (std::uint64_t c = 0; c < held.size(); ++c)
          if (std::find(held[c].begin(), held[c].end(), part.number) != held[c].end()) at[index.axis] = {c};
      }
    return at;
  }

  void draw_bucket(std::size_t seed, const std::vector<std::size_t>& order) {
    Bucket bucket;
    bucket.at = implied(tensors_[seed]);
    if (bucket.at.empty() && choices_.chance(60)) stand_beside(bucket);
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < layout_.mesh.axes.size(); ++axis)
      if (bucket.at.count(axis) == 0 || bucket.at[axis].size() == layout_.mesh.shape[axis]) axes.push_back(axis);
    if (axes.empty()) return;
    bucket.axis = choices_.pick(axes);
    KeyLimits limits;
    limits.is_member = true;
    limits.taken = {bucket.axis};
    for (std::size_t axis = 0; axis < layout_.mesh.axes.size(); ++axis) {
      if (bucket.at.count(axis) == 0 && axis != bucket.axis && choices_.chance(25))
        bucket.at[axis] = some_coordinates(axis);
      if (bucket.at.count(axis) != 0 && bucket.at[axis].size() < layout_.mesh.shape[axis]) limits.taken.insert(axis);
    }
    if (choices_.chance(50)) bucket.align = choices_.between(2, 8);
    if (choices_.chance(50)) bucket.multiple_of = choices_.between(2, 6);
    if (choices_.chance(30)) bucket.multiple_of_each = choices_.between(2, 3);
    bucket.is_flat = choices_.chance(25);
    bucket.last_is_short = !bucket.is_flat && choices_.chance(30);
    const std::uint64_t most = choices_.between(1, 5);
    for (const std::size_t t : order) {
      if (bucket.members.size() == most) break;
      const bool is_first = bucket.members.empty();
      if (!layout_.keys[t] || tensors_[t].element_bytes != tensors_[seed].element_bytes || (is_first && t != seed))
        continue;
      const At at = implied(tensors_[t]);
      if (!std::all_of(at.begin(), at.end(), [&](const auto& entry) {
            return bucket.at.count(entry.first) != 0 && bucket.at[entry.first] == entry.second;
          }))
        continue;
      bucket.members.push_back(draw_member(t, bucket, limits));
      layout_.keys[t].reset();
    }
    choices_.shuffle(bucket.members);
    name_bucket(bucket);
    note_bucket(bucket);
    layout_.buckets.push_back(std::move(bucket));
  }

  Member draw_member(std::size_t t, const Bucket& bucket, const KeyLimits& limits) {
    if (choices_.chance(40))
      if (const Member* lender = find_lender(t, bucket, limits)) return {t, lender->keys, lender->tensor};
    Member member{t, draw_keys(choices_, layout_.mesh, tensors_[t], limits), std::nullopt};
    if (bucket.is_flat) member.keys.flat = Flat{bucket.axis, choices_.chance(30) ? choices_.between(2, 3) : 1};
    return member;
  }

  /// A member, of this bucket or of one before it, whose keys would do for this tensor, too.
  const Member* find_lender(std::size_t t, const Bucket& bucket, const KeyLimits& limits) const {
    const auto fits = [&](const Member& member) {
      return tensors_[member.tensor].shape == tensors_[t].shape && member.keys.flat.has_value() == bucket.is_flat &&
             (!bucket.is_flat || member.keys.flat->axis == bucket.axis) &&
             std::none_of(member.keys.split.begin(), member.keys.split.end(), [&](const auto& axes) {
               return std::any_of(axes.begin(), axes.end(), [&](auto axis) { return limits.taken.count(axis) != 0; });
             });
    };
    const auto find_in = [&](const Bucket& each) -> const Member* {
      const auto found = std::find_if(each.members.begin(), each.members.end(), fits);
      return found == each.members.end() ? nullptr : &*found;
    };
    for (const Bucket& other : layout_.buckets)
      if (const Member* found = find_in(other)) return found;
    return find_in(bucket);
  }

  Numbers some_coordinates(std::size_t axis) {
    Numbers coordinates{choices_.below(layout_.mesh.shape[axis])};
    for (std::uint64_t c = 0; c < layout_.mesh.shape[axis]; ++c)
      if (c != coordinates.front() && choices_.chance(20)) coordinates.push_back(c);
    return coordinates;
  }

  /// The next stage's bucket, where the last one is a stage's.
  void stand_beside(Bucket& bucket) {
    if (layout_.buckets.empty()) return;
    for (const auto& [axis, coordinates] : layout_.buckets.back().at)
      if (coordinates.size() < layout_.mesh.shape[axis])
        bucket.at[axis] = {(coordinates.back() + 1) % layout_.mesh.shape[axis]};
  }

  /// Buckets that no card holds both of may share a name.
  void name_bucket(Bucket& bucket) {
    bucket.name = "flat." + std::string(1, static_cast<char>('a' + layout_.buckets.size()));
    for (const Bucket& other : layout_.buckets) {
      const bool is_apart = std::all_of(layout_.buckets.begin(), layout_.buckets.end(), [&](const Bucket& each) {
        return each.name != other.name || std::any_of(bucket.at.begin(), bucket.at.end(), [&](const auto& entry) {
                 const auto theirs = each.at.find(entry.first);
                 return theirs != each.at.end() && std::none_of(entry.second.begin(), entry.second.end(), [&](auto c) {
                          return std::find(theirs->second.begin(), theirs->second.end(), c) != theirs->second.end();
                        });
               });
      });
      if (!is_apart) continue;
      bucket.name = other.name;
      features_.insert("buckets of one name");
      return;
    }
  }

  void note_bucket(const Bucket& bucket) {
    features_.insert("buckets");
    if (!bucket.at.empty()) features_.insert("bucket at");
    if (bucket.align > 1) features_.insert("bucket align");
    if (bucket.multiple_of > 1) features_.insert("bucket multiple_of");
    if (bucket.multiple_of_each > 1) features_.insert("bucket multiple_of_each");
    if (bucket.last_is_short) features_.insert("bucket last short");
    if (bucket.is_flat) features_.insert("bucket member flat");
    for (const Member& member : bucket.members) {
      if (member.like) features_.insert("bucket member like");
      if (!member.keys.split.empty()) features_.insert("bucket member split");
      if (!member.keys.permute.empty()) features_.insert("bucket member permute");
      if (!member.keys.pad.empty()) features_.insert("bucket member pad");
      if (member.keys.parts) features_.insert("bucket member parts");
    }
  }

  Choices& choices_;
  Layout& layout_;
  const std::vector<Tensor>& tensors_;
  std::set<std::string>& features_;
};

}  // namespace

void draw_buckets(Choices& choices, Layout& layout, const std::vector<Tensor>& tensors,
                  std::set<std::string>& features) {
  BucketDrawer(choices, layout, tensors, features).draw();
}

}  // namespace model
