#include "layout/names/entry_names.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace ckpt {

namespace {

/// Returns whether the same text can begin with both.
bool may_agree(std::string_view a, std::string_view b) {
  return a.starts_with(b) || b.starts_with(a);
}

bool may_agree(const std::vector<Pattern>& names, std::string_view beginning) {
  return std::any_of(names.begin(), names.end(),
                     [&](const Pattern& name) { return may_agree(name.pieces().first, beginning); });
}

/// If `rename` matches every name that begins with `prefix`, and keeps the rest of it ("module/{x}"), returns the
/// beginning of the new names.
std::optional<std::string> renamed_all(const Rename& rename, std::string_view prefix) {
  const std::string first(rename.stored.pieces().first);
  const std::string& stored = rename.stored.text();
  const std::string capture = stored.substr(std::min(first.size(), stored.size()));
  const bool is_rest = capture.size() > 2 && capture.find('}') + 1 == capture.size();
  if (!is_rest || !prefix.starts_with(first)) return std::nullopt;
  std::string beginning(rename.name.pieces().first);
  if (rename.name.text().compare(beginning.size(), capture.size(), capture) == 0)
    beginning += prefix.substr(first.size());
  return beginning;
}

}  // namespace

bool EntryNames::may_hold(std::size_t entry, std::string_view beginning) const {
  const std::string& prefix = layout_.files.entries()[entry].prefix;
  for (const Rename& rename : layout_.rename) {
    if (const auto all = renamed_all(rename, prefix)) return may_agree(*all, beginning);
    if (may_agree(rename.stored.pieces().first, prefix) && may_agree(rename.name.pieces().first, beginning))
      return true;
  }
  if (!may_agree(prefix, beginning)) return false;
  // A name that begins with another entry's longer prefix lies there.
  return !beginning.starts_with(prefix) || layout_.files.entry_of(std::string(beginning)) == entry;
}

bool EntryNames::may_hold(std::size_t entry, const Rule& rule) const {
  const auto here = [&](const Rule& other) {
    return std::any_of(other.names.begin(), other.names.end(),
                       [&](const Pattern& name) { return may_hold(entry, name); });
  };
  // Names of other rules may borrow a rule's keys, and others may borrow from those.
  std::vector<const Rule*> reached{&rule};
  std::vector<bool> is_reached(layout_.parameters.size(), false);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (here(*reached[i])) return true;
    for (std::size_t r = 0; r < layout_.parameters.size(); ++r) {
      const Rule& other = layout_.parameters[r];
      if (is_reached[r] || !other.like || !may_agree(reached[i]->names, other.like->pieces().first)) continue;
      is_reached[r] = true;
      reached.push_back(&other);
    }
  }
  return false;
}

}  // namespace ckpt
