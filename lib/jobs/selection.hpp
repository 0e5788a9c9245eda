#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layout/layout.hpp"
#include "layout/pattern_index.hpp"
#include "layout/placement.hpp"
#include "layout/resolve.hpp"
#include "output/new_name.hpp"

namespace ckpt {

/// Which parameters a job takes, and under which names.
struct NameChoice {
  std::vector<Pattern> only;  ///< those that match one of these; empty: all
  std::vector<Pattern> drop;  ///< but not these
  /// `stored` is the logical name as read, `name` the new one. The first that matches counts; where it only takes text
  /// out ("{a}_orig_mod.{b}={a}{b}"), those behind it that do no more apply to what it gives.
  std::vector<Rename> rename;
  bool takes_masters = false;  ///< the whole model, each tensor from where Checkpoint::masters says
};

/// Which rows are taken of the tables whose names match: those for which a condition (RowCondition) holds.
struct KeepRule {
  Pattern tables;
  std::string condition;
};

/// A choice, indexed for asking about many names. It refers to the choice, which must outlive it.
class Wishes {
 public:
  explicit Wishes(const NameChoice& choice);

  /// Whether the parameter of this logical name is taken.
  bool is_kept(const std::string& logical_name) const {
    return (takes_all_ || only_.first(logical_name)) && !drop_.first(logical_name);
  }
  /// The name that it is given.
  std::string new_name(const std::string& logical_name) const;

 private:
  const NameChoice& choice_;
  std::vector<bool> takes_text_out_;  // by rename
  bool takes_all_;
  PatternIndex only_;
  PatternIndex drop_;
  PatternIndex rename_;
};

/// What becomes of other values than parameters, by their names; null where a choice says nothing. It has a copy.
NewName new_name_of(const NameChoice& choice);

/// What is to be written: the kept tensors under their new names, and where each comes from.
struct Selection {
  std::vector<Tensor> tensors;         ///< sorted by name
  std::vector<ParameterId> source_of;  ///< the source's parameter, parallel to tensors

  /// Where the tensor of a name stands; nothing where there is none.
  std::optional<std::size_t> find(std::string_view name) const;
  /// Adds one of a new name, at its place.
  void insert(Tensor tensor, ParameterId from);
};

/// Throws usage when two parameters get one name, or nothing is left.
Selection select(const NameChoice& choice, const Placement& source);

/// Takes the tensors that are chosen from where `masters` (Checkpoint::masters) says, those that have no place of their
/// own in the source too. Throws usage as `select`.
void take_masters(const std::map<std::string, std::string>& masters, const NameChoice& choice, const Placement& source,
                  Selection& selection);

/// A selection under other names, parallel to its own; what has none is left out. Throws usage, with the reason, where
/// two get one name.
Selection renamed(const Selection& selection, const std::vector<std::string>& names, const char* why);

/// Whether each of a source's parameters is taken, without those of tables: of a table's rows, each is there once, and
/// nothing of theirs can be held against anything.
std::vector<bool> without_tables(std::vector<bool> is_taken, const Placement& source);

/// Takes out what says where the shards of the source's tables begin: on other servers that is another matter. And with
/// `deletions` the keys that tables delete from older layers.
void leave_out_of_tables(const Placement& source, bool deletions, Selection& selection);

/// The names that parameters of the source would have been given which `selection`, made from it, leaves out.
std::set<std::string> left_out_names(const NameChoice& choice, const Resolved& source, const Selection& selection);

/// Which names count of a checkpoint or a reference that is held against what was selected of a source: those that were
/// taken, and of those that the source has not, what the choice takes by itself. It refers to the choice.
class CountedNames {
 public:
  CountedNames(const NameChoice& choice, const Resolved& source, const Selection& selection);

  bool counts(const std::string& name) const {
    return taken_.contains(name) || (!left_out_.contains(name) && wishes_.is_kept(name));
  }
  /// Another name for a tensor: it counts if that tensor does. One that the source has stays what it is.
  void add_alias(const std::string& name, const std::string& alias);

 private:
  Wishes wishes_;
  std::set<std::string> taken_;
  std::set<std::string> left_out_;
};

/// Which layout the output is to have: exactly one of these.
struct TargetChoice {
  std::optional<Layout> layout;
  std::map<std::string, std::uint64_t> mesh;  ///< the source's rules on another mesh
  std::optional<std::uint64_t> cards;         ///< the same for a mesh of one axis
  std::optional<std::uint64_t> file_bytes;    ///< parameters whole, in files that hold so much at most (`model_files`)
};

/// The layout of the output; not where `file_bytes` says it, for which the selection must be known.
Layout target_layout(const TargetChoice& target, const Layout& source);

/// That layout for what `selection`, made from `source`, has taken: its buckets are without the members that the choice
/// leaves out.
Layout without_left_out(const NameChoice& choice, const Resolved& source, const Selection& selection,
                        const Layout& layout);

}  // namespace ckpt
