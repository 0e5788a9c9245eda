#include "layout/borrowing.hpp"

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
  std::vector<const Keys*> said;  // the borrowed ones last
  std::set<std::string> seen;
  const BucketMember* member = &layout_.buckets[where.bucket].members[where.member];
  const auto refuse = [&](const std::string& found, const std::string& expected) {
    return Error(Kind::layout,
                 layout_.origin + ": bucket \"" + layout_.buckets[where.bucket].name + "\", member \"" +
                     layout_.buckets[where.bucket].members[where.member].name + "\"",
                 {found, expected, ""});
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
    break;
  }
  for (std::size_t i = said.size(); i-- > 0;) result.keys.override_with(*said[i]);
  if (result.keys.shape) result.shape_of.reset();
  return result;
}

std::unordered_set<std::string> Borrowing::lenders() const {
  std::unordered_set<std::string> names;
  for (const auto& [name, where] : members_)
    if (layout_.buckets[where.bucket].members[where.member].like)
      if (auto keys = of(where); keys.shape_of) names.insert(std::move(*keys.shape_of));
  return names;
}

}  // namespace ckpt
