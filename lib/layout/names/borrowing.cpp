#include "layout/names/borrowing.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.hpp"

namespace ckpt {

Borrowing::Borrowing(const Layout& layout, const Naming& naming) : layout_(layout), naming_(naming) {
  for (std::uint32_t b = 0; b < layout.buckets.size(); ++b)
    for (std::uint32_t m = 0; m < layout.buckets[b].members.size(); ++m) {
      const std::string& name = layout.buckets[b].members[m].name;
      if (!members_.emplace(name, Membership{b, m}).second)
        throw Error(Kind::layout, layout.origin,
                    {"\"" + name + "\" is a member of two buckets", "each parameter in one", ""});
    }
}

std::optional<Membership> Borrowing::find(const std::string& name) const {
  const auto found = members_.find(name);
  return found == members_.end() ? std::nullopt : std::optional(found->second);
}

MemberKeys Borrowing::of(Membership where) const {
  std::vector<const Keys*> said;  // the borrowed ones come last
  std::set<std::string> seen;
  const BucketMember* member = &layout_.buckets[where.bucket].members[where.member];
  const auto refuse = [&](const std::string& found, const std::string& expected) {
    return Error(Kind::layout, place(where), {found, expected, ""});
  };
  MemberKeys result;
  while (true) {
    said.push_back(&member->keys);
    if (!member->like) break;
    if (!seen.insert(member->name).second)
      throw refuse("its \"like\" leads back to \"" + member->name + "\"", "a parameter that says how it is split");
    if (const auto next = find(*member->like)) {
      member = &layout_.buckets[next->bucket].members[next->member];
      continue;
    }
    const auto decision = naming_.decide(*member->like);
    if (!decision)
      throw refuse("it is to be like \"" + *member->like + "\", which no rule matches", "a rule for that name");
    result.shape_of = *member->like;
    result.shape_keys = decision->keys;
    result.rules = decision->rules;
    result.keys = decision->keys;
    result.keys.at.reset();
    result.keys.at_last.clear();
    break;
  }
  for (std::size_t i = said.size(); i-- > 0;) result.keys.override_with(*said[i]);
  if (result.keys.shape) result.shape_of.reset();
  check_axis(result.keys, where);
  return result;
}

std::string Borrowing::place(Membership where) const {
  const Bucket& bucket = layout_.buckets[where.bucket];
  return layout_.origin + ": bucket \"" + bucket.name + "\", member \"" + bucket.members[where.member].name + "\"";
}

/// A member's own keys are checked where they are parsed; borrowed keys may cut it over the bucket's axis, too.
void Borrowing::check_axis(const Keys& keys, Membership where) const {
  const Mesh& mesh = layout_.mesh;
  const Axis own = layout_.buckets[where.bucket].axis;
  const std::string axis = "\"" + mesh.axes[own] + "\"";
  const std::string lender = layout_.buckets[where.bucket].members[where.member].like.value_or("");
  if (keys.split)
    for (const auto& axes : *keys.split)
      if (std::find(axes.begin(), axes.end(), own) != axes.end())
        throw Error(
            Kind::layout, place(where),
            {"the bucket is cut over " + axis + ", over which '" + lender + "', which it is \"like\", is split",
             "an axis over which no member is split", "is \"axis\" of the bucket the one that its pieces lie along?"});
  if (keys.flat && keys.flat->axis != own)
    throw Error(
        Kind::layout, place(where),
        {"\"flat\" over \"" + mesh.axes[keys.flat->axis] + "\", from '" + lender + "', which it is \"like\"",
         axis + ", over which the bucket is cut", "say \"flat\" of the member itself, or mend the bucket's \"axis\""});
  if (keys.boxes)
    throw Error(Kind::layout, place(where),
                {"'" + lender + "', which it is \"like\", has \"boxes\"",
                 "a parameter that is cut by \"split\", \"flat\" and their like",
                 "say \"shape\" and \"split\" of the member itself"});
}

std::unordered_set<std::string> Borrowing::lenders() const {
  std::unordered_set<std::string> names;
  for (std::uint32_t b = 0; b < layout_.buckets.size(); ++b)
    for (std::uint32_t m = 0; m < layout_.buckets[b].members.size(); ++m)
      if (layout_.buckets[b].members[m].like)
        if (auto keys = of({b, m}); keys.shape_of) names.insert(std::move(*keys.shape_of));
  return names;
}

}  // namespace ckpt
