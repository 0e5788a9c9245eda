#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "layout/language/layout.hpp"
#include "layout/names/index_blocks.hpp"
#include "layout/names/pattern_index.hpp"

namespace ckpt {

/// Collects the numbers in the names of a checkpoint that each entry of `indices` matches. They determine the totals
/// that a layout leaves out, and show whether an index is missing. It refers to the layout, which must outlive it.
class IndexCensus {
 public:
  explicit IndexCensus(const Layout& layout);

  /// Records a renamed name on a card at these coordinates.
  void note_stored(const std::string& name, const std::vector<std::uint64_t>& coordinates);
  /// Records a name with global indices: that of a tensor or of a bucket's member.
  void note_logical(const std::string& name);

  /// Returns the total of each entry: from the layout, or else from the names; 0 for an entry that matches none. Throws
  /// layout if the total from the names does not divide into the entry's blocks.
  std::vector<std::uint64_t> totals() const;

  /// Throws an error of this kind that lists missing indices, if an entry matches some name, but not one for each index
  /// below its total.
  void check_no_gaps(const std::vector<std::uint64_t>& totals, Kind kind) const;

  /// Suggests how to fit names whose numbers exceed these totals: the end of a message, or nothing.
  std::string suggest_fit(const std::vector<std::uint64_t>& totals) const;

  /// Returns a warning for each entry that matches no name.
  std::vector<std::string> unused() const;

 private:
  struct IndexMatch {
    std::size_t entry;
    std::uint64_t number;
    std::uint64_t chunk;
  };
  struct SeenIndices {
    std::set<IndexBlocks::StoredNumbers> stored;
    std::set<std::uint64_t> logical;
  };

  const std::vector<IndexMatch>& matched(const std::string& name);
  std::string place(std::size_t entry) const;
  std::uint64_t ways(std::size_t entry) const;
  std::uint64_t declared_total(std::size_t entry) const;
  std::string suggest_fit(std::size_t entry) const;
  std::string suggest_local_fit(std::size_t entry) const;

  const Layout& layout_;
  PatternIndex patterns_;
  std::unordered_map<std::string, std::vector<IndexMatch>> known_;  // by name
  std::vector<SeenIndices> seen_;                                   // by entry
};

}  // namespace ckpt
