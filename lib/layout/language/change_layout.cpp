#include "layout/language/change_layout.hpp"

#include <map>
#include <tuple>
#include <unordered_map>

#include "base/text.hpp"

namespace ckpt {

namespace {

using MembersByName = std::unordered_map<std::string, const BucketMember*>;

/// Returns the member with its own copy of everything that it borrowed, directly or not, from members that are left
/// out.
BucketMember on_its_own(const BucketMember& member, const MembersByName& left_out) {
  BucketMember own = member;
  for (std::size_t steps = 0; own.like && steps <= left_out.size(); ++steps) {  // cycles are refused elsewhere
    const auto lender = left_out.find(*own.like);
    if (lender == left_out.end()) break;
    Keys keys = lender->second->keys;
    keys.override_with(own.keys);
    own.keys = std::move(keys);
    own.like = lender->second->like;
  }
  return own;
}

}  // namespace

Layout without_members(const Layout& layout, const std::set<std::string>& names) {
  MembersByName left_out;
  for (const Bucket& bucket : layout.buckets)
    for (const BucketMember& member : bucket.members)
      if (names.contains(member.name)) left_out.emplace(member.name, &member);
  if (left_out.empty()) return layout;
  Layout changed = layout;
  changed.buckets.clear();
  for (const Bucket& bucket : layout.buckets) {
    Bucket fewer = bucket;
    fewer.members.clear();
    for (const BucketMember& member : bucket.members)
      if (!left_out.contains(member.name)) fewer.members.push_back(on_its_own(member, left_out));
    if (!fewer.members.empty()) changed.buckets.push_back(std::move(fewer));
  }
  return changed;
}

void cut_unevenly(Layout& layout, Uneven uneven) {
  const auto change = [&](Keys& keys) {
    if (keys.split && !keys.uneven && !keys.sizes && !keys.pad) keys.uneven = uneven;
  };
  for (Rule& rule : layout.parameters) change(rule.keys);
  for (Bucket& bucket : layout.buckets)
    for (BucketMember& member : bucket.members) change(member.keys);
}

std::vector<std::string> padding_warnings(const Layout& from, const Layout& to) {
  constexpr std::uint64_t most_each = 4;  // DeepSpeed's is 2; Megatron's 128 holds for any mesh
  std::map<std::tuple<std::uint64_t, Axis>, std::vector<std::string>> names;
  for (const Bucket& bucket : from.buckets) {
    const std::uint64_t size = from.mesh.shape[bucket.axis];
    if (bucket.multiple_of > 1 && bucket.multiple_of % size == 0 && bucket.multiple_of / size <= most_each &&
        to.mesh.shape[bucket.axis] != size)
      names[{bucket.multiple_of, bucket.axis}].push_back("\"" + bucket.name + "\"");
  }
  std::vector<std::string> warnings;
  for (const auto& [padding, buckets] : names) {
    const std::uint64_t multiple = std::get<0>(padding);
    const Axis axis = std::get<1>(padding);
    const std::string& name = from.mesh.axes[axis];
    const auto sized = [&](const Layout& layout) { return name + "=" + std::to_string(layout.mesh.shape[axis]); };
    warnings.push_back(to.origin + (buckets.size() == 1 ? ": bucket " : ": buckets ") + join(buckets) +
                       ": padded to a multiple of " + std::to_string(multiple) + " for " + sized(to) + " as for " +
                       sized(from) + "; where the framework's padding follows " + name +
                       ", say \"multiple_of_each\": " + std::to_string(multiple / from.mesh.shape[axis]) + " instead");
  }
  return warnings;
}

}  // namespace ckpt
