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

#include "layout/naming.hpp"
#include "layout/resolve.hpp"

namespace ckpt {

/// Which logical parameter each stored array of each card is: `rename`, `buckets` and `indices` applied to what the
/// files declare.
class SourceNames {
 public:
  struct Logical {
    InternedText name;
    InternedText stored;                  ///< in the files: one name on every card that holds it
    std::optional<std::uint32_t> bucket;  ///< a member of this bucket
    std::uint32_t member = 0;
  };

  /// Throws input for two stored arrays that become one parameter, showing the collision, and for an index that no name
  /// has. Tells `naming` how far the layout's entries of `indices` count.
  SourceNames(const Layout& layout, Naming& naming, const std::vector<Holding>& files, const Keep& keep);

  /// Kept names, in order: the parameters of the placement to come.
  const std::vector<Logical>& logical() const noexcept { return logical_; }
  /// Every name found, also those that the job does not keep.
  std::vector<std::string> all() const { return {all_.begin(), all_.end()}; }
  bool contains(const std::string& name) const {
    return std::binary_search(all_.begin(), all_.end(), InternedText(name));
  }
  /// The names, kept or not, of which an array cannot be read.
  const std::set<std::string>& refused() const noexcept { return refused_; }
  /// Warnings for the user.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// The number of a kept name, or nothing.
  std::optional<std::size_t> find(const std::string& name) const;

  /// The stored array of a parameter (for a bucket's member: the bucket's) in a card's file, or nothing.
  const StoredArray* at(std::size_t logical, Position position) const;
  Position first_position(std::size_t logical) const { return first_[logical]; }
  const StoredArray& first(std::size_t logical) const { return *at(logical, first_[logical]); }

 private:
  /// What one file's declarations mean on cards with the same counted coordinates: array → logical name.
  struct Table {
    Holding holding;
    std::vector<std::int64_t> array_of;  // for each kept logical: index into *holding, or -1
  };
  /// A stored array's name after `rename`, and the bucket that it is on its card, if it is one.
  struct Renamed {
    InternedText name;
    std::optional<std::uint32_t> bucket;
  };
  /// Before the logical names have their final numbers.
  struct Draft {
    Holding holding;
    Position position;                                        // the first that is named so
    std::vector<Renamed> renamed;                             // for each array of the holding
    std::vector<std::pair<InternedText, std::size_t>> names;  // logical name, array
  };

  std::optional<std::uint32_t> bucket_of(const Layout& layout, const std::string& name, Position position) const;
  Draft draft(const Layout& layout, const Naming& naming, const Holding& holding, Position position);
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
  std::vector<std::uint32_t> table_of_;  // for each position
  std::vector<Position> first_;
  std::vector<std::string> warnings_;
};

}  // namespace ckpt
