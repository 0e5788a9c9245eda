#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "layout/naming.hpp"

namespace ckpt {

/// Which member of which bucket.
struct Membership {
  std::uint32_t bucket = 0;
  std::uint32_t member = 0;
};

/// What a bucket's member is, with all that its `like` borrows.
struct MemberKeys {
  Keys keys;  ///< `shape` is in it where the layout says it; never `at`, which is the bucket's
  /// Otherwise: the parameter, no bucket's member, whose logical shape it has.
  std::optional<std::string> shape_of;
  std::vector<std::size_t> rules;  ///< that took part
  Keys shape_keys;                 ///< with `shape_of`: the keys that say how that one is stored
};

/// The members of a layout's buckets by their names. It refers to the layout and the naming, which must outlive it.
class Borrowing {
 public:
  /// Throws layout for a parameter that is a member of two buckets.
  Borrowing(const Layout& layout, const Naming& naming);

  std::optional<Membership> find(const std::string& name) const;

  /// Follows `like` through other members to a rule. Throws layout where it leads back, or to no rule, or what is
  /// borrowed does not go with the bucket.
  MemberKeys of(Membership where) const;

  /// The parameters, no buckets' members, whose shapes must be known for those of members.
  std::unordered_set<std::string> lenders() const;

 private:
  std::string place(Membership where) const;
  void check_axis(const Keys& keys, Membership where) const;

  const Layout& layout_;
  const Naming& naming_;
  std::unordered_map<std::string, Membership> members_;
};

}  // namespace ckpt
