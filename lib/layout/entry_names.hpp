#pragma once

#include <cstddef>
#include <string_view>

#include "layout/layout.hpp"

namespace ckpt {

/// Which names may lie in the files of an entry of `files`, judged by how names begin: by the entry's prefix, and by
/// what `rename` makes of it. It refers to the layout, which must outlive it.
class EntryNames {
 public:
  explicit EntryNames(const Layout& layout) : layout_(layout) {}

  /// False only where no array of such a file can have a (renamed) name that begins so.
  bool may_hold(std::size_t entry, std::string_view beginning) const;
  /// The same for any name that the pattern matches.
  bool may_hold(std::size_t entry, const Pattern& pattern) const { return may_hold(entry, pattern.pieces().first); }
  /// The same for any name that takes the `at` of a rule, by itself or by `like`.
  bool may_hold(std::size_t entry, const Rule& rule) const;

 private:
  const Layout& layout_;
};

}  // namespace ckpt
