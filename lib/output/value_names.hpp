#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/pattern.hpp"
#include "output/new_name.hpp"
#include "plan/planner.hpp"
#include "store/catalog.hpp"

namespace ckpt {

/// Where an attribute stands.
struct ValuePlace {
  std::string group;  ///< its path; empty: the root group
  std::string name;
  friend bool operator==(const ValuePlace&, const ValuePlace&) = default;
};

/// What becomes of a source's attributes where a job chooses and renames. Numbers and texts of a tree are chosen by
/// their names, as its tensors are. Attributes of other files tell of the file, or of what is in a group: those of the
/// root group stay unless they are dropped by their names, those of a group also go where nothing of it is taken.
class ValueNames {
 public:
  /// `new_name` and `dropped` must outlive it.
  ValueNames(const Planner& planner, const NewName& new_name, const std::vector<Pattern>& dropped);

  /// Whether the prefixes of the source's files are names of dicts: not those that its layout renames.
  bool prefixes_are_dicts() const noexcept { return prefixes_are_dicts_; }
  /// Where an attribute of a file with this schema comes to stand; nothing: it is left out. `place`: with the prefix of
  /// the file's names.
  std::optional<ValuePlace> operator()(const Schema& schema, ValuePlace place) const;

 private:
  const NewName& new_name_;
  const std::vector<Pattern>& dropped_;
  std::set<std::string> taken_;  // of the source's parameters
  bool has_other_cards_;
  bool prefixes_are_dicts_;
};

/// The new name of an attribute or leaf of a file with this schema, by the path of its keys; nothing where it is not
/// taken. Values of a DCP directory are named as its tensors are, with dots.
std::optional<std::string> new_value_name(const NewName& new_name, const Schema& schema, const std::string& path);

/// What attributes are left out as they tell how the source was cut, where no tree tells it: DCP's of safetensors, and
/// for other cards what names ranks and their number.
std::set<std::string> left_out_values(const std::vector<const Schema*>& schemas, bool has_other_cards);

/// "optimizer/" and "state/0", "step" → "optimizer/state/0", "step".
ValuePlace below_prefix(const std::string& prefix, const std::string& group, const std::string& name);

}  // namespace ckpt
