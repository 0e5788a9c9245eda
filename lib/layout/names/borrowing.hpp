#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "layout/names/naming.hpp"

namespace ckpt {

/// Identifies a bucket's member.
struct Membership {
  std::uint32_t bucket = 0;
  std::uint32_t member = 0;
};

/// The keys of a bucket's member, including everything that its `like` borrows.
struct MemberKeys {
  Keys keys;  ///< including `shape` if the layout gives it; never `at`, which is the bucket's
  /// If the layout gives no shape: the parameter outside buckets whose logical shape it has.
  std::optional<std::string> shape_of;
  std::vector<std::size_t> rules;  ///< rules that contributed
  Keys shape_keys;                 ///< with `shape_of`: the keys that say how that parameter is stored
};

/// Finds the members of a layout's buckets by name. It refers to the layout and the naming, which must outlive it.
class Borrowing {
 public:
  /// Throws layout for a parameter that is a member of two buckets.
  Borrowing(const Layout& layout, const Naming& naming);

  std::optional<Membership> find(const std::string& name) const;

  /// Follows `like` through other members to a rule. Throws layout for a cycle, if it leads to no rule, or if the
  /// borrowed keys do not suit the bucket.
  MemberKeys of(Membership where) const;

  /// Returns the parameters outside buckets whose shapes must be known to determine those of members.
  std::unordered_set<std::string> lenders() const;

 private:
  std::string place(Membership where) const;
  void check_axis(const Keys& keys, Membership where) const;

  const Layout& layout_;
  const Naming& naming_;
  std::unordered_map<std::string, Membership> members_;
};

}  // namespace ckpt
