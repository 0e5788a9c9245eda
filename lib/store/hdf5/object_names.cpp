#include "store/hdf5/object_names.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.hpp"

namespace ckpt::hdf5 {

namespace {

[[noreturn]] void refuse(const char* what, std::string name, const std::string& found, const std::string& expected) {
  std::replace(name.begin(), name.end(), '\0', '?');  // it would end the message
  throw Error(Kind::input, what + (" name \"" + name + '"'), {found, expected, "", {Advice::What::rename, ""}});
}

void check_parts(const char* what, const std::string& name, std::size_t most) {
  std::size_t parts = 0;
  for (std::size_t from = 0; from <= name.size(); ++parts) {
    const std::size_t slash = std::min(name.find('/', from), name.size());
    const std::string_view part = std::string_view(name).substr(from, slash - from);
    if (part.empty()) refuse(what, name, "a part of it is empty, which HDF5 cannot store", "");
    if (part == ".") refuse(what, name, "a part of it is \".\", which HDF5 cannot store", "");
    if (part.find('\0') != std::string_view::npos)
      refuse(what, name, "a part of it is not text, which HDF5 cannot store", "");
    from = slash + 1;
  }
  if (parts > most)
    refuse(what, name, "it has " + std::to_string(parts) + " levels",
           "at most " + std::to_string(most) + ", or the file could not be read back");
}

/// Returns the shortest dataset's name that is a parent of `name`; empty if there is none.
std::string_view dataset_above(std::string_view name, const std::unordered_set<std::string_view>& datasets) {
  for (std::size_t end = name.find('/'); end != std::string_view::npos; end = name.find('/', end + 1))
    if (datasets.contains(name.substr(0, end))) return name.substr(0, end);
  return {};
}

std::string with_dots(std::string text) {
  std::replace(text.begin(), text.end(), '/', '.');
  return text;
}

/// Applies the first renaming "{x}/END={x}.END" that matches a name.
std::string renamed(std::string_view name, const std::vector<std::string>& ends) {
  for (const std::string& end : ends)
    if (name.size() > end.size() + 1 && name.ends_with("/" + end))
      return std::string(name.substr(0, name.size() - end.size() - 1)) + "." + with_dots(end);
  return std::string(name);
}

/// Returns whether the renamings leave every dataset a name of its own, and none below another.
bool do_renames_help(const std::unordered_set<std::string_view>& datasets, const std::vector<std::string>& ends) {
  std::vector<std::string> names;
  for (const std::string_view name : datasets) names.push_back(renamed(name, ends));
  const std::unordered_set<std::string_view> distinct(names.begin(), names.end());
  return distinct.size() == names.size() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
           return dataset_above(name, distinct).empty();
         });
}

/// `ends`: for names below a dataset's name, the rest after it.
Advice advice_on(const std::unordered_set<std::string_view>& datasets, std::vector<std::string> ends) {
  constexpr std::size_t most_renames = 8;
  const auto is_plain = [](const std::string& end) { return end.find_first_of("*?[]{}=\n'") == std::string::npos; };
  // The first renaming that matches counts: "kernel/Adam/m" ends with "m", too.
  std::stable_sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  if (ends.size() > most_renames || !std::all_of(ends.begin(), ends.end(), is_plain) ||
      !do_renames_help(datasets, ends))
    return {Advice::What::rename, ""};
  Advice advice{Advice::What::rename_all, ""};
  for (const std::string& end : ends)
    advice.detail += (advice.detail.empty() ? "" : "\n") + ("{x}/" + end) + "={x}." + with_dots(end);
  return advice;
}

/// Throws if one dataset would have to be a group that contains another: "kernel" and "kernel/Adam".
void check_no_dataset_holds(const std::unordered_set<std::string_view>& datasets) {
  std::set<std::string> ends;
  std::string_view below;
  for (const std::string_view name : datasets) {
    const std::string_view above = dataset_above(name, datasets);
    if (above.empty()) continue;
    if (ends.empty() || name < below) below = name;
    ends.emplace(name.substr(above.size() + 1));
  }
  if (ends.empty()) return;
  throw Error(Kind::input, "dataset name \"" + std::string(dataset_above(below, datasets)) + '"',
              {"\"" + std::string(below) + "\" would lie below it, which HDF5 cannot store",
               "names of which none continues another with a slash", "write a format that has both, as safetensors",
               advice_on(datasets, {ends.begin(), ends.end()})});
}

/// Throws if a dataset has the name of a group with attributes, or of one of its parents.
void check_way(const std::unordered_set<std::string_view>& datasets, const std::string& group) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = group.find('/', end + 1);
    const std::string_view above = std::string_view(group).substr(0, end);
    if (datasets.contains(above))
      refuse("dataset", std::string(above), "group \"" + group + "\" has attributes that are kept",
             "another name for a dataset than its own, or than that of a group around it");
  }
}

}  // namespace

void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups) {
  const std::unordered_set<std::string_view> names(datasets.begin(), datasets.end());
  for (const std::string& name : datasets) check_parts("dataset", name, max_levels);
  check_no_dataset_holds(names);
  for (const std::string& name : groups) {
    check_parts("group", name, max_levels - 1);
    check_way(names, name);
  }
}

}  // namespace ckpt::hdf5
