#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/names/pattern.hpp"
#include "output/new_name.hpp"
#include "plan/planner.hpp"
#include "store/catalog.hpp"

namespace ckpt {

/// Where an attribute is.
struct ValuePlace {
  std::string group;  ///< its path; empty: the root group
  std::string name;
  friend bool operator==(const ValuePlace&, const ValuePlace&) = default;
};

/// What becomes of a source's attributes if a job chooses and renames. Numbers and texts of a tree are chosen by name,
/// as its tensors are. Other files' attributes describe the file, or the content of a group: the root group's stay
/// unless they are dropped by name; a group's are also left out if nothing in it is taken.
class ValueNames {
 public:
  /// `new_name` and `dropped` must outlive it.
  ValueNames(const Planner& planner, const NewName& new_name, const std::vector<Pattern>& dropped);

  /// Whether the prefixes of the source's files are names of dicts: not if its layout renames.
  bool prefixes_are_dicts() const noexcept { return prefixes_are_dicts_; }
  /// The new place of an attribute of a file with this schema; nothing if it is left out. `place`: with the prefix of
  /// the file's names.
  std::optional<ValuePlace> operator()(const Schema& schema, ValuePlace place) const;

 private:
  const NewName& new_name_;
  const std::vector<Pattern>& dropped_;
  std::set<std::string> taken_;  // of the source's parameters
  bool has_other_cards_;
  bool prefixes_are_dicts_;
};

/// The new name of an attribute or leaf of a file with this schema, by the path of its keys; nothing if it is not
/// taken. Values of a DCP directory have dotted names, as its tensors do.
std::optional<std::string> new_value_name(const NewName& new_name, const Schema& schema, const std::string& path);

/// The attributes that are left out because they describe the source's sharding outside a tree: those of DCP's
/// safetensors, and for other cards those that name ranks and their number.
std::set<std::string> left_out_values(const std::vector<const Schema*>& schemas, bool has_other_cards);

/// The paths of values in trees that name ranks and their number, for other cards: a tree is a framework's own, and is
/// kept as it is. Without those that are written anew.
std::set<std::string> kept_values(const std::vector<const Schema*>& schemas, bool has_other_cards);

/// An array's attributes, without those that say which piece of the whole it was; adds the names of these to
/// `left_out`.
std::vector<Attribute> without_places(const std::vector<Attribute>& attributes, std::set<std::string>& left_out);

/// "optimizer/" and "state/0", "step" → "optimizer/state/0", "step".
ValuePlace below_prefix(const std::string& prefix, const std::string& group, const std::string& name);

}  // namespace ckpt
