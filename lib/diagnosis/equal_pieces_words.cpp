#include "diagnosis/equal_pieces_words.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "diagnosis/layout_with_copies.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/name_groups.hpp"

namespace ckpt {

namespace {

/// "parameter 'w'", "8 parameters (layers.*.w)".
std::string these(std::vector<std::string> names) {
  std::sort(names.begin(), names.end(), natural_less);
  if (names.size() == 1) return "parameter '" + names.front() + "'";
  return std::to_string(names.size()) + " parameters (" + join(describe_groups(group_names(names))) + ")";
}

/// A parameter's `split` in the layout's form, without some axes.
std::string split_without(const Placement& placement, ParameterId parameter, const std::vector<Axis>& left_out) {
  std::vector<std::vector<Axis>> split = placement.shardings()[parameter].axes;
  while (!split.empty() && split.back().empty()) split.pop_back();
  for (auto& axes : split)
    std::erase_if(axes, [&](Axis axis) { return std::find(left_out.begin(), left_out.end(), axis) != left_out.end(); });
  Keys keys;
  keys.split = std::move(split);
  return to_json(keys, placement.mesh());
}

std::string axis_names(const Mesh& mesh, const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis axis : axes) names.push_back(mesh.axes[axis]);
  return join(names);
}

/// What `indices` counts, by the word before the number ("layers"), and which numbers have the same bytes as others.
struct EqualNumbers {
  std::string word;
  std::map<std::uint64_t, std::uint64_t> original_of;

  static constexpr std::size_t most = 6;

  std::string text() const {
    std::vector<std::string> copies;
    std::vector<std::string> originals;
    for (const auto& [copy, original] : original_of) {
      if (copies.size() == most) break;
      copies.push_back(std::to_string(copy));
      originals.push_back(std::to_string(original));
    }
    const std::string more = original_of.size() > most ? ", …" : "";
    return word + " " + join(copies) + more + " hold the same bytes as " + join(originals) + more;
  }
};

class Description {
 public:
  Description(const Placement& placement, const PieceFindings& findings, const WriteWithCopies& write)
      : placement_(placement), mesh_(placement.mesh()), findings_(findings), write_(write) {}

  std::vector<std::string> warnings() {
    for (const EqualPieces& equal : findings_.equal) {
      if (equal.over.entry) {
        if (!findings_.distinct.contains(equal.over)) counted_[equal.over][equal.copies].push_back(&equal);
      } else if (equal.copies.are_all(mesh_)) {
        replicated_axes_[equal.parameters.front()].push_back(equal.copies.axis);
        replicated_[equal.parameters.front()] = equal.parameters;
      } else {
        repeated_[equal.copies].push_back(&equal);
      }
    }
    warn_of_replicated();
    for (const auto& [copies, all] : repeated_) warn_of_repeated(copies, all);
    for (const auto& [over, by_copies] : counted_)
      warn_of_counted(over, by_copies.begin()->first, by_copies.begin()->second);
    return std::move(warnings_);
  }

 private:
  using All = std::vector<const EqualPieces*>;
  struct FewestFirst {
    bool operator()(const AxisCopies& a, const AxisCopies& b) const {
      return std::tie(a.count, a.stride) < std::tie(b.count, b.stride);
    }
  };

  std::vector<std::string> names(const All& all) const {
    std::vector<std::string> names;
    for (const EqualPieces* equal : all)
      for (const ParameterId parameter : equal->parameters) names.push_back(placement_.tensors()[parameter].name);
    return names;
  }

  void warn_of_replicated() {
    std::map<std::pair<std::vector<Axis>, std::string>, std::vector<std::string>> splits;  // by axes and new text
    for (const auto& [parameter, axes] : replicated_axes_) {
      auto& names = splits[{axes, split_without(placement_, parameter, axes)}];
      for (const ParameterId each : replicated_[parameter]) names.push_back(placement_.tensors()[each].name);
    }
    for (const auto& [split, names] : splits) {
      const std::string over = axis_names(mesh_, split.first);
      warnings_.push_back(placement_.layout().origin + " splits " + these(names) + " over " + over +
                          ", but all cards along " + over + " hold the same shard: if " +
                          (names.size() == 1 ? "it is" : "they are") + " replicated, write " + split.second);
    }
  }

  /// "card 2 holds what card 0 does".
  std::string example(const AxisCopies& copies, ParameterId parameter) const {
    const Position original = placement_.first_base(parameter);
    const Position copy = original + copies.stride * mesh_.stride(copies.axis);
    return "card " + std::to_string(mesh_.card(copy)) + " holds what card " + std::to_string(mesh_.card(original)) +
           " does";
  }

  /// Asks about the axis that the mesh lacks.
  std::string missing_axis(const AxisCopies& copies, ParameterId parameter) const {
    std::set<std::uint64_t> counted_on;
    for (const auto& [over, distinct] : findings_.distinct)
      if (over.axis == copies.axis && over.entry) counted_on.insert(*over.entry);
    const std::string written = write_(copies, parameter, counted_on);
    std::string text = "is an axis of " + std::to_string(copies.count) + " copies missing in the mesh";
    text += written.empty() ? ", within " + mesh_.axes[copies.axis] + "?" : "? It would fit with " + written;
    const auto distinct = findings_.distinct.find({copies.axis, {}});
    if (distinct != findings_.distinct.end())
      text += "; what is not repeated, as '" + placement_.tensors()[distinct->second].name +
              "', is then split over both axes";
    return text;
  }

  void warn_of_repeated(const AxisCopies& copies, const All& all) {
    const std::string& axis = mesh_.axes[copies.axis];
    const ParameterId parameter = all.front()->parameters.front();
    warnings_.push_back(placement_.layout().origin + " splits " + these(names(all)) + " over " + axis +
                        ", but every shard occurs " + std::to_string(copies.count) + " times along " + axis + " (" +
                        example(copies, parameter) + "): " + missing_axis(copies, parameter));
  }

  EqualNumbers equal_numbers(const IndexRule& rule, const AxisCopies& copies, const All& all) const {
    EqualNumbers numbers;
    for (const EqualPieces* equal : all) {
      std::map<Position, std::uint64_t> number_on;
      for (const ParameterId parameter : equal->parameters) {
        const std::string& name = placement_.tensors()[parameter].name;
        const auto found = *rule.in.find(name, "i");
        const std::size_t end = found.position == 0 ? 0 : found.position - 1;
        const std::size_t begin = end == 0 ? 0 : name.find_last_of("./", end - 1) + 1;
        numbers.word = name.substr(begin, end - begin);
        placement_.for_each_first(parameter, [&](Position card) { number_on[card] = std::stoull(found.text); });
      }
      for (const auto& [card, number] : number_on)
        if (const auto original = number_on.find(copies.original(mesh_, card));
            original != number_on.end() && original->second != number)
          numbers.original_of[number] = original->second;
    }
    return numbers;
  }

  void warn_of_counted(const SplitAxis& over, const AxisCopies& copies, const All& all) {
    const IndexRule& entry = placement_.layout().indices[*over.entry];
    const std::string& axis = mesh_.axes[copies.axis];
    std::string text = placement_.layout().origin + ": /indices/" + std::to_string(*over.entry) + ": \"" +
                       entry.in.text() + "\" counts over " + axis + ", but " +
                       equal_numbers(entry, copies, all).text() + ": ";
    if (!copies.are_all(mesh_)) {
      warnings_.push_back(text + missing_axis(copies, all.front()->parameters.front()));
      return;
    }
    const IndexRule rule = without(entry, copies.axis);
    warnings_.push_back(text + "does " + axis + " count nothing? Then " +
                        (rule.axes.empty() ? "leave this entry out" : "write " + to_json(rule, mesh_)));
  }

  /// The entry as it counts if all cards along an axis hold the same.
  IndexRule without(IndexRule rule, Axis axis) const {
    std::vector<std::uint64_t> counts;
    for (std::uint64_t i = 0; i < rule.counts.size(); ++i)
      if (mesh_.coordinate(mesh_.position_of_combination(rule.axes, i), axis) == 0) counts.push_back(rule.counts[i]);
    rule.counts = std::move(counts);
    if (rule.total) *rule.total /= mesh_.shape[axis];
    std::erase(rule.axes, axis);
    return rule;
  }

  const Placement& placement_;
  const Mesh& mesh_;
  const PieceFindings& findings_;
  const WriteWithCopies& write_;
  std::map<ParameterId, std::vector<Axis>> replicated_axes_;  // by the first parameter of its pieces
  std::map<ParameterId, std::vector<ParameterId>> replicated_;
  std::map<AxisCopies, All> repeated_;
  std::map<SplitAxis, std::map<AxisCopies, All, FewestFirst>> counted_;  // a table of all layers has the most copies
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> describe_equal_pieces(const Placement& placement, const PieceFindings& findings,
                                               const WriteWithCopies& write) {
  return Description(placement, findings, write).warnings();
}

std::vector<std::string> warnings_of_equal_pieces(const ReplicatedFiles& files, Communicator& processes) {
  const PieceFindings findings = find_equal_pieces(files, processes);
  std::optional<std::vector<CardArrays>> card_arrays;
  const auto write = [&](const AxisCopies& copies, ParameterId example, const std::set<std::uint64_t>& counted_on) {
    if (!card_arrays) card_arrays = files.checkpoint.card_arrays();
    return layout_with_copies(files.placement, *card_arrays, copies, example, counted_on);
  };
  std::vector<std::string> warnings;
  agree(processes, [&] { warnings = describe_equal_pieces(files.placement, findings, write); });
  return warnings;
}

}  // namespace ckpt
