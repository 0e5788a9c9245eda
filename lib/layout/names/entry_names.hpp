#pragma once

#include <cstddef>
#include <string_view>

#include "layout/language/layout.hpp"

namespace ckpt {

/// Which names may occur in the files of an entry of `files`, judging by the beginning of names: by the entry's prefix,
/// and by `rename`. It refers to the layout, which must outlive it.
class EntryNames {
 public:
  explicit EntryNames(const Layout& layout) : layout_(layout) {}

  /// Returns false only if no array of such a file can have a (renamed) name with this beginning.
  bool may_hold(std::size_t entry, std::string_view beginning) const;
  /// Returns false only if no array of such a file can have a name that the pattern matches.
  bool may_hold(std::size_t entry, const Pattern& pattern) const { return may_hold(entry, pattern.pieces().first); }
  /// Returns false only if no array of such a file can have a name that takes the `at` of a rule, directly or by
  /// `like`.
  bool may_hold(std::size_t entry, const Rule& rule) const;

 private:
  const Layout& layout_;
};

}  // namespace ckpt
