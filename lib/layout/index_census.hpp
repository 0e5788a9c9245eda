#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "layout/index_blocks.hpp"
#include "layout/layout.hpp"
#include "layout/pattern_index.hpp"

namespace ckpt {

/// What the names of a checkpoint count: which numbers each entry of `indices` was seen with. From it come the totals
/// that a layout leaves out, and whether an index is missing. It refers to the layout, which must outlive it.
class IndexCensus {
 public:
  explicit IndexCensus(const Layout& layout);

  /// Notes a renamed name on a card at these coordinates.
  void note_stored(const std::string& name, const std::vector<std::uint64_t>& coordinates);
  /// Notes a name that carries global indices: a tensor's, a bucket's member's.
  void note_logical(const std::string& name);

  /// The total of each entry: what the layout says, else what the names tell; 0 for an entry that matches none. Throws
  /// layout when the names tell one that does not divide into the entry's blocks.
  std::vector<std::uint64_t> totals() const;

  /// Throws an error of this kind that lists what is missing when an entry that matches some name does not match one
  /// with each index below its total.
  void check_no_gaps(const std::vector<std::uint64_t>& totals, Kind kind) const;

  /// What would fit the names where some count beyond these totals: the end of a message, or nothing.
  std::string what_would_fit(const std::vector<std::uint64_t>& totals) const;

  /// A warning for each entry that matches no name.
  std::vector<std::string> unused() const;

 private:
  struct Matched {
    std::size_t entry;
    std::uint64_t number;
    std::uint64_t chunk;
  };
  struct Seen {
    std::set<IndexBlocks::Called> stored;
    std::set<std::uint64_t> logical;
  };

  const std::vector<Matched>& matched(const std::string& name);
  std::string place(std::size_t entry) const;
  std::uint64_t ways(std::size_t entry) const;
  std::uint64_t told_total(std::size_t entry) const;
  std::string what_would_fit(std::size_t entry) const;
  std::string what_would_fit_locally(std::size_t entry) const;

  const Layout& layout_;
  PatternIndex patterns_;
  std::unordered_map<std::string, std::vector<Matched>> known_;  // by name
  std::vector<Seen> seen_;                                       // for each entry
};

}  // namespace ckpt
