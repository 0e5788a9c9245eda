#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "layout/names/naming.hpp"
#include "layout/placement/resolve.hpp"

namespace ckpt {

/// Maps each stored array of each card to its logical parameter: applies `rename`, `buckets` and `indices` to the
/// declarations in the files.
class SourceNames {
 public:
  struct Logical {
    InternedText name;
    InternedText stored;                  ///< in the files: the same on every card that holds it
    std::optional<std::uint32_t> bucket;  ///< the bucket that it is a member of
    std::uint32_t member = 0;
  };

  /// Throws input for two stored arrays that become one parameter, showing both, and for an index that no name has.
  /// Sets in `naming` how far the layout's entries of `indices` count.
  SourceNames(const Layout& layout, Naming& naming, const std::vector<CardArrays>& files, const Keep& keep);

  /// Returns the kept names, in order: the parameters of the placement to come.
  const std::vector<Logical>& logical() const noexcept { return logical_; }
  /// Returns every name found, including those that the job does not keep.
  std::vector<std::string> all() const { return {all_.begin(), all_.end()}; }
  bool contains(const std::string& name) const {
    return std::binary_search(all_.begin(), all_.end(), InternedText(name));
  }
  /// Returns the names, kept or not, with an array that cannot be read.
  const std::set<std::string>& refused() const noexcept { return refused_; }
  /// Warnings for the user.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// Returns the number of a kept name, or nothing.
  std::optional<std::size_t> find(const std::string& name) const;

  /// Returns the stored array of a parameter (for a bucket's member: the bucket's) in a card's file, or nothing.
  const StoredArray* at(std::size_t logical, Position position) const;
  Position first_position(std::size_t logical) const { return first_[logical]; }
  const StoredArray& first(std::size_t logical) const { return *at(logical, first_[logical]); }

 private:
  /// What one file's declarations mean on cards with the same counted coordinates: array → logical name.
  struct Table {
    CardArrays arrays_on_card;
    std::vector<std::int64_t> array_of;  // by kept logical name: index into *holding, or -1
  };
  /// A stored array's name after `rename`, and its bucket on its card, if it is one.
  struct RenamedArray {
    InternedText name;
    std::optional<std::uint32_t> bucket;
  };
  /// A table before the logical names have their final numbers.
  struct Draft {
    CardArrays arrays_on_card;
    Position position;                                        // the first with these names
    std::vector<RenamedArray> renamed;                        // by array of the holding
    std::vector<std::pair<InternedText, std::size_t>> names;  // logical name, array
  };

  std::optional<std::uint32_t> bucket_of(const Layout& layout, const std::string& name, Position position) const;
  Draft draft(const Layout& layout, const Naming& naming, const CardArrays& arrays_on_card, Position position);
  void count(const Layout& layout, Naming& naming, const std::vector<std::unique_ptr<Draft>>& drafts);
  void name(const Layout& layout, const Naming& naming, Draft& draft) const;
  InternedText renamed_once(const Layout& layout, const Naming& naming, InternedText stored);
  void number(const Layout& layout, const std::vector<std::unique_ptr<Draft>>& drafts, const Keep& keep);

  std::unordered_map<std::string, std::vector<std::uint32_t>> buckets_;  // by name
  std::unordered_map<InternedText, InternedText> renamed_;               // stored → renamed
  std::unordered_map<InternedText, InternedText> stored_of_;             // renamed → stored
  std::vector<Logical> logical_;
  std::vector<InternedText> all_;
  std::set<std::string> refused_;
  std::vector<Table> tables_;
  std::vector<std::uint32_t> table_of_;  // by position
  std::vector<Position> first_;
  std::vector<std::string> warnings_;
};

}  // namespace ckpt
