#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layout/language/layout.hpp"
#include "layout/names/pattern_index.hpp"
#include "layout/placement/placement.hpp"
#include "layout/placement/resolve.hpp"
#include "output/new_name.hpp"
#include "plan/planner.hpp"

namespace ckpt {

class NameMapping;
struct MapSource;

/// A pattern for names of one side of a map, "hf:*.q_proj.weight".
struct SidePattern {
  std::string side;
  Pattern names;
};

/// Which parameters a job takes, and under which names.
struct NameChoice {
  std::vector<Pattern> only;  ///< takes names that match one of these; empty: all
  std::vector<Pattern> drop;  ///< except these
  /// `stored` is the logical name as read, `name` the new one. The first rule that matches counts; if it only removes
  /// text ("{a}_orig_mod.{b}={a}{b}"), later rules of that kind apply to its result.
  std::vector<Rename> rename;
  std::shared_ptr<const NameMapping> mapping = {};  ///< applies to what is taken, before `rename`; null: none
  bool takes_masters = false;  ///< takes the whole model, each tensor from its source in Checkpoint::masters
  std::vector<SidePattern> only_of_side = {};  ///< as `only`; all are of one side
  std::vector<SidePattern> drop_of_side = {};

  /// Sets the map. Patterns that begin with the name of a side of it become those of that side.
  void take_mapping(std::shared_ptr<const NameMapping> the_mapping);
  bool has_only() const { return !only.empty() || !only_of_side.empty(); }
  bool names_sides() const { return !only_of_side.empty() || !drop_of_side.empty(); }
  bool takes_all() const { return only.empty() && drop.empty() && !names_sides(); }
  /// Whether the patterns of one side take a name of it. Those of `only` count as that side's if `is_source`.
  bool is_kept(const std::string& side, const std::string& name, bool is_source) const;
};

/// Which rows are taken of the tables whose names match: those for which a condition (RowCondition) holds.
struct KeepRule {
  Pattern tables;
  std::string condition;
};

/// A choice, indexed for lookups of many names. It refers to the choice, which must outlive it.
class NameFilter {
 public:
  explicit NameFilter(const NameChoice& choice);

  /// Whether the parameter of this logical name is taken.
  bool is_kept(const std::string& logical_name) const {
    return (takes_all_ || only_.first(logical_name)) && !drop_.first(logical_name);
  }
  /// The name that a parameter of this logical name gets.
  std::string new_name(const std::string& logical_name) const;

 private:
  const NameChoice& choice_;
  std::vector<bool> takes_text_out_;  // by rename
  bool takes_all_;
  PatternIndex only_;
  PatternIndex drop_;
  PatternIndex rename_;
};

/// Renames values other than parameters; null if a choice says nothing. It holds a copy of the choice.
NewName new_name_of(const NameChoice& choice);

/// The tensors to write, under their new names, and the source of each.
struct Selection {
  std::vector<Tensor> tensors;         ///< sorted by name
  std::vector<ParameterId> source_of;  ///< the source's parameter, parallel to tensors
  Planner::Links links = {};           ///< parallel to tensors, or empty: the elements are those of `source_of`
  std::vector<std::pair<ParameterId, ParameterId>> equal = {};  ///< the source's parameters that must be equal
  std::vector<std::string> notes = {};                          ///< what a map of names leaves out
  std::string map = {};                        ///< the map of names that made it, as JSON (NameMapping::convert)
  std::set<std::string> states = {};           ///< tensors of an optimizer's state, as far as a map tells
  std::vector<std::string> recut_states = {};  ///< the map's (MappedTensors)
  std::array<std::string, 2> sides = {};       ///< if patterns are of a side: the source's and the output's, of the map
  std::vector<std::string> made = {};          ///< if patterns are of a side: all names that the map would make

  const TensorLinks* links_of(std::size_t tensor) const { return links.empty() ? nullptr : links[tensor].get(); }
  /// Calls visit(parameter) for all of the source's parameters that are taken; for some several times.
  template <class Visit>
  void for_each_source(Visit visit) const;
  /// The index of the tensor with this name, or nothing.
  std::optional<std::size_t> find(std::string_view name) const;
  /// Adds a tensor with a new name, in order.
  void insert(Tensor tensor, ParameterId from);
};

template <class Visit>
void Selection::for_each_source(Visit visit) const {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    visit(source_of[i]);
    if (const TensorLinks* const of = links_of(i)) of->for_each_source(visit);
  }
}

/// `masters` (Checkpoint::masters): from where a choice that takes master weights has each tensor, including tensors
/// that the source does not have under their own names. Throws usage if two parameters get one name, or nothing is
/// left.
Selection select(const NameChoice& choice, const Placement& source,
                 const std::map<std::string, std::string>& masters = {});

/// The source's parameters that a choice takes, for its map of names.
MapSource taken_by_map(const NameChoice& choice, const Placement& source);

/// A selection under other names, parallel to its own; a tensor with an empty name is left out. Throws usage, with the
/// reason, if two get one name.
Selection renamed(const Selection& selection, const std::vector<std::string>& names, const char* why);

/// For each of a source's parameters, whether it is taken and outside tables: tables have each row once, so nothing of
/// theirs can be compared with copies.
std::vector<bool> without_tables(std::vector<bool> is_taken, const Placement& source);

/// The new names of the source's parameters that `selection`, made from it, leaves out.
std::set<std::string> left_out_names(const NameChoice& choice, const Resolved& source, const Selection& selection);

/// Which names count in a checkpoint or a reference that is compared with a selection: those that were taken, and among
/// names that the source lacks, those that the choice takes. It refers to the choice.
class CountedNames {
 public:
  CountedNames(const NameChoice& choice, const Resolved& source, const Selection& selection);

  bool counts(const std::string& name) const;
  /// Gives a tensor another name, which counts if that tensor does. An alias that the source itself has is unaffected.
  void add_alias(const std::string& name, const std::string& alias);
  /// Makes every other name count if what `spelled` makes of it does.
  void count_as(std::function<std::string(const std::string&)> spelled) { spelled_ = std::move(spelled); }

 private:
  bool counts_itself(const std::string& name) const;

  const NameChoice& choice_;
  NameFilter name_filter_;
  std::string side_;  ///< of the output
  std::set<std::string> taken_;
  std::set<std::string> left_out_;
  std::function<std::string(const std::string&)> spelled_;
};

/// The output's layout: exactly one of these.
struct TargetChoice {
  std::optional<Layout> layout;
  bool names_files = false;                   ///< `layout` names its files: their ending says their format
  std::map<std::string, std::uint64_t> mesh;  ///< the source's rules on another mesh
  std::optional<std::uint64_t> cards;         ///< the source's rules on a mesh of one axis
  bool must_cut = false;                      ///< with `mesh` or `cards`: a source without rules is refused
  std::optional<Uneven> uneven;               ///< with `mesh` or `cards`: how rules that do not say it cut
  std::optional<std::uint64_t> file_bytes;    ///< whole parameters, in files of at most this size (`model_files`)
  bool is_like_expected = false;  ///< with file_bytes: in the files of the expected model, with its other files
};

/// The layout of the output; not for `file_bytes`, which needs the selection first.
Layout target_layout(const TargetChoice& target, const Layout& source);

/// Adapts that layout to `selection`, made from `source`: its buckets lose the members that the choice leaves out.
Layout without_left_out(const NameChoice& choice, const Resolved& source, const Selection& selection,
                        const Layout& layout);

}  // namespace ckpt
