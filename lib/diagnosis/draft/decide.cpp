#include "diagnosis/draft/decide.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "diagnosis/draft/fused_names.hpp"
#include "diagnosis/draft/search.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/name_groups.hpp"

namespace ckpt::drafting {

namespace {

/// The keys as they appear in a rule beside the layout's `indices`: {"split": ["tp"]}.
std::string shown(Keys keys, const Question& question, const Mesh& mesh) {
  leave_implied(keys, question.implied);
  return keys.plain() == Keys{} ? "whole on every card" : to_json(keys, mesh);
}

std::string axes_text(const Mesh& mesh, const std::vector<Axis>& axes) {
  std::vector<std::string> words;
  for (const Axis axis : axes) words.push_back(mesh.axes[axis] + "=" + std::to_string(mesh.shape[axis]));
  return join(words, words.size());
}

/// A name without some of its first components, or of its last ones: {"layers.0.w", "m.layers.0", ...}.
std::vector<std::string> names_within(const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t at = name.find_first_of("./"); at != std::string::npos; at = name.find_first_of("./", at + 1)) {
    names.push_back(name.substr(at + 1));
    names.push_back(name.substr(0, at));
  }
  return names;
}

class Decider {
 public:
  Decider(const Mesh& mesh, const std::vector<Question>& questions, CardData& cards, WholeTensors* reference,
          const std::vector<Pattern>& unfused)
      : mesh_(mesh), questions_(questions), cards_(cards), search_(mesh_, cards, reference), unfused_(unfused) {
    std::vector<std::string> names;
    for (const Question& question : questions) {
      by_name_[question.name] = &question;
      names.push_back(question.name);
    }
    for (const NameGroup& group : group_names(names)) {
      for (const std::string& name : group.names) group_of_[name] = leaders_.size();
      leaders_.emplace_back();
    }
    for (const std::string& name : names)
      for (const std::string& base : names_within(name))
        if (by_name_.contains(base)) made_of_[base].push_back(name);
  }

  Decisions decide() {
    // Matrices before vectors: the parts that their data prove apply to biases, too.
    std::vector<const Question*> order;
    for (const Question& question : questions_) order.push_back(&question);
    std::stable_sort(order.begin(), order.end(), [](const Question* a, const Question* b) {
      return a->first().shape.size() > b->first().shape.size();
    });
    for (const Question* question : order) answer(*question);
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (auto undecided = undecided_.begin(); undecided != undecided_.end();) {
        const bool is_found = follow(*by_name_.at(undecided->first), undecided->second);
        undecided = is_found ? undecided_.erase(undecided) : std::next(undecided);
        goes_on = goes_on || is_found;
      }
    }
    for (const auto& [name, fitting] : undecided_) decisions_.open[name] = left_open(*by_name_.at(name), fitting);
    unify_uneven();
    return std::move(decisions_);
  }

 private:
  void answer(const Question& question) {
    const std::size_t rank = question.first().shape.size();
    if (!question.expected && question.differing.empty() &&
        !(question.is_constant && numel(question.first().shape) > 1)) {
      Keys keys;
      if (!question.location.at.empty()) {
        keys.at = question.location.at;
        keys.at_last = question.location.at_last;
      }
      return settle(question, std::move(keys));
    }
    std::vector<Keys> fitting = search_.fitting(question);
    // Without whole tensors, equal pieces of one dimension may also belong to something flat.
    const bool is_proven = question.expected || (rank > 0 && has_uneven_pieces(question));
    if (fitting.size() == 1 && is_proven && !may_be_fused(question, fitting.front()))
      settle(question, std::move(fitting.front()));
    else
      undecided_[question.name] = std::move(fitting);
  }

  /// Whether only shapes say that a dimension is cut as a whole, and not each of several parts by itself.
  bool may_be_fused(const Question& question, const Keys& keys) const {
    if (!question.expected || question.has_data || !keys.split) return false;
    return std::none_of(unfused_.begin(), unfused_.end(),
                        [&](const Pattern& pattern) { return pattern.matches(question.name); });
  }

  void settle(const Question& question, Keys keys) {
    leaders_[group_of_.at(question.name)].try_emplace(to_json(keys, mesh_), question.name);
    decisions_.keys[question.name] = std::move(keys);
  }

  static bool has_uneven_pieces(const Question& question) {
    return std::any_of(question.pieces.begin(), question.pieces.end(), [&](const Piece& piece) {
      return piece.array != nullptr && !(piece.array->shape == question.first().shape);
    });
  }

  /// The keys of a bias beside its matrix: cut as the rows are, if it has as many elements as there are rows.
  std::optional<Keys> keys_beside_matrix(const Question& question) const {
    constexpr std::string_view bias = "bias";
    if (question.first().shape.size() != 1 || !question.name.ends_with(bias)) return std::nullopt;
    const std::string matrix = question.name.substr(0, question.name.size() - bias.size()) + "weight";
    const auto keys = decisions_.keys.find(matrix);
    if (keys == decisions_.keys.end() || by_name_.at(matrix)->first().shape.size() != 2) return std::nullopt;
    const Shape& whole = by_name_.at(matrix)->expected.value_or(Shape{});
    if (question.expected && (whole.empty() || whole[0] != (*question.expected)[0])) return std::nullopt;
    Keys own = keys->second;
    if (own.parts || own.pad || own.sizes || own.permute || own.flat) return std::nullopt;
    if (own.split) own.split->resize(std::min<std::size_t>(1, own.split->size()));
    if (own.split && (own.split->empty() || own.split->front().empty())) own.split.reset();
    if (!own.split) own.uneven.reset();
    return own;
  }

  bool settle_if_fitting(const Question& question, const std::vector<Keys>& fitting, const Keys& keys,
                         bool may_be_declared_alike) {
    const bool is_fitting =
        std::any_of(fitting.begin(), fitting.end(), [&](const Keys& each) { return each.plain() == keys.plain(); });
    if (!is_fitting && !may_be_declared_alike) return false;
    settle(question, keys);
    decisions_.followed.push_back(question.name);
    return true;
  }

  /// Takes the keys of a parameter with a related name, if they are among those that fit, or store the same shapes on
  /// the same cards. Related are the parameter that this one is named after, one whose name differs only in numbers,
  /// those named after this one (moments) if they are all cut alike, and the matrix whose bias this is.
  bool follow(const Question& question, const std::vector<Keys>& fitting) {
    std::vector<std::string> leaders = names_within(question.name);
    if (question.expected)
      for (const auto& [text, leader] : leaders_[group_of_.at(question.name)]) leaders.push_back(leader);
    if (const auto only = leader_among(made_of_[question.name])) leaders.push_back(*only);
    for (const std::string& leader : leaders) {
      const auto keys = decisions_.keys.find(leader);
      if (keys == decisions_.keys.end()) continue;
      const bool is_alike = !question.expected && is_declared_alike(question, *by_name_.at(leader));
      if (settle_if_fitting(question, fitting, Keys(keys->second), is_alike)) return true;
    }
    const auto beside = keys_beside_matrix(question);
    return beside && settle_if_fitting(question, fitting, *beside, false);
  }

  /// One of these names; all that are decided must have the same keys.
  std::optional<std::string> leader_among(const std::vector<std::string>& names) const {
    std::optional<std::string> leader;
    for (const std::string& name : names) {
      const auto keys = decisions_.keys.find(name);
      if (keys == decisions_.keys.end()) continue;
      if (!leader) leader = name;
      if (decisions_.keys.at(*leader).plain() != keys->second.plain()) return std::nullopt;
    }
    return leader;
  }

  static bool is_declared_alike(const Question& a, const Question& b) {
    for (std::size_t p = 0; p < a.pieces.size(); ++p) {
      const StoredArray* ours = a.pieces[p].array;
      const StoredArray* theirs = b.pieces[p].array;
      if ((ours == nullptr) != (theirs == nullptr)) return false;
      if (ours != nullptr && !(ours->shape == theirs->shape)) return false;
    }
    return std::includes(b.differing.begin(), b.differing.end(), a.differing.begin(), a.differing.end());
  }

  Open left_open(const Question& question, const std::vector<Keys>& fitting) {
    constexpr std::size_t most = 4;
    Open open;
    open.found = found_text(question);
    const Shape& shape = question.first().shape;
    const bool is_fusion_open = fitting.size() == 1 && may_be_fused(question, fitting.front());
    if (is_fusion_open) {
      open.is_usually_fused = usual_parts(question.name) != 0;
      for (const Keys& keys : in_usual_parts(question, fitting.front()))
        open.candidates.push_back(shown(keys, question, mesh_));
    }
    for (const Keys& keys : fitting)
      if (open.candidates.size() < most) open.candidates.push_back(shown(keys, question, mesh_));
    if (!question.expected && shape.size() == 1 && !question.differing.empty())
      open.candidates.emplace_back("a member of \"buckets\", or \"flat\"");
    if (may_have_copies_that_differ(question))
      open.candidates.insert(open.candidates.begin(), shown(first_copy(question), question, mesh_));
    if (!question.expected) {
      open.needed = "the whole tensors";
      open.advice.what = Advice::What::give_tensors;
    } else if (fitting.empty()) {
      explain_misfit(question, open);
    } else if (is_fusion_open) {
      open.needed =
          "whether the dimension is fused, each of its parts (Q, K and V, gate and up) cut by itself, which "
          "shapes do not show";
      if (usual_parts(question.name) == 3)  // of query, key and value
        open.needed += R"(; if K and V are smaller than Q: "parts": {"dim": )" + cut_dimension(fitting.front()) +
                       R"(, "sizes": [Q, K, V]})";
      open.advice.what = Advice::What::say_unfused;
    } else if (!question.has_data) {
      open.needed = "whole tensors of this dtype, not their shapes alone";
      open.advice.what = Advice::What::give_tensors;
    } else {
      open.needed = "which of them it is";
    }
    return open;
  }

  std::string found_text(const Question& question) const {
    const std::string wanted = question.expected ? " for " + to_string(*question.expected) : "";
    const std::string pieces = to_string(question.first().shape) + wanted;
    if (question.is_constant && !question.differing.empty() && has_uneven_pieces(question))
      return "pieces of " + pieces + " and other shapes, all elements of one value";
    if (question.is_constant)
      return pieces + " on each card, all elements of one value, so that equal bytes prove nothing";
    if (question.differing.empty()) return "equal copies of " + pieces + " on each card";
    return "different pieces of " + pieces + " over " + axes_text(mesh_, question.differing);
  }

  static std::string cut_dimension(const Keys& keys) {
    const auto cut = std::ranges::find_if(*keys.split, [](const auto& axes) { return !axes.empty(); });
    return std::to_string(cut - keys.split->begin());
  }

  /// The same cut of a dimension that is fused of as many equal parts as is usual under such a name.
  std::vector<Keys> in_usual_parts(const Question& question, const Keys& whole) const {
    std::vector<Keys> found;
    const std::uint64_t count = usual_parts(question.name);
    for (std::size_t dim = 0; count != 0 && dim < whole.split->size(); ++dim) {
      Keys keys = whole;
      keys.parts = Parts{dim, {}, count};
      const bool is_cut = !(*whole.split)[dim].empty() && (*question.expected)[dim] % count == 0;
      if (is_cut && Trial(mesh_, question, cards_, nullptr).resolved(keys)) found.push_back(std::move(keys));
    }
    return found;
  }

  /// Says why no rule fits: no shape does, which the mesh may explain; or only the values differ.
  void explain_misfit(const Question& question, Open& open) {
    Question by_shape = question;
    by_shape.has_data = false;
    const std::vector<Keys> fitting = question.has_data ? search_.fitting(by_shape) : std::vector<Keys>{};
    if (fitting.empty()) {
      open.needed = "a rule that gives this shape: none that is tried does on this mesh";
      open.advice.what = Advice::What::give_mesh;
      return;
    }
    for (const Keys& keys : fitting) open.candidates.push_back(shown(keys, question, mesh_));
    open.found += ", whose values are not the whole tensor's by any rule that is tried";
    open.needed = "its rule, or the whole tensors of this very step";
  }

  /// True for numbers without dimensions, and vectors not of floats: counters, states of random generators. Assuming it
  /// of anything else might lose a parameter's pieces.
  static bool may_have_copies_that_differ(const Question& question) {
    const StoredArray& first = question.first();
    return !question.expected && !question.differing.empty() && !has_uneven_pieces(question) &&
           (first.shape.empty() || (first.shape.size() == 1 && !first.dtype.is_float()));
  }

  static Keys first_copy(const Question& question) { return candidates(Family::first, question, {}, {}).front(); }

  bool fits(const std::string& name, Keys keys, Uneven word) const {
    if (keys.uneven == word) return true;
    keys.uneven = word;
    return Trial(mesh_, *by_name_.at(name), cards_, nullptr).resolved(keys).has_value();
  }

  /// Pieces that divide evenly fit every word for `uneven`. If some pieces fit one word alone, and all others fit it,
  /// too, all get it: it makes no difference on this mesh, and fits another mesh better.
  void unify_uneven() {
    std::vector<std::string> cut;
    bool is_needed = false;
    bool all_ceil = true;
    bool all_balanced = true;
    for (const auto& [name, keys] : decisions_.keys) {
      if (!keys.split || keys.pad || keys.sizes) continue;
      cut.push_back(name);
      const bool is_ceil = fits(name, keys, Uneven::ceil);
      const bool is_balanced = fits(name, keys, Uneven::balanced);
      if (keys.uneven && is_ceil && is_balanced) decisions_.either_uneven.push_back(name);
      is_needed = is_needed || keys.uneven;
      all_ceil = all_ceil && is_ceil;
      all_balanced = all_balanced && is_balanced;
    }
    if (!is_needed || all_ceil == all_balanced) return;
    decisions_.either_uneven.clear();
    for (const std::string& name : cut) decisions_.keys[name].uneven = all_ceil ? Uneven::ceil : Uneven::balanced;
  }

  const Mesh& mesh_;
  const std::vector<Question>& questions_;
  CardData& cards_;
  Search search_;
  const std::vector<Pattern>& unfused_;
  std::map<std::string, const Question*> by_name_;
  std::map<std::string, std::size_t> group_of_;              // of names that differ only in numbers
  std::vector<std::map<std::string, std::string>> leaders_;  // by group: for each text of keys a name that has them
  std::map<std::string, std::vector<std::string>> made_of_;  // names that contain this one
  std::map<std::string, std::vector<Keys>> undecided_;
  Decisions decisions_;
};

}  // namespace

void leave_implied(Keys& keys, const At& implied) {
  if (!keys.at) return;
  for (const auto& [axis, coordinates] : implied) {
    keys.at->erase(axis);
    keys.at_last.erase(axis);
  }
  if (keys.at->empty()) keys.at.reset();
}

Decisions decide(const Mesh& mesh, const std::vector<Question>& questions, CardData& cards, WholeTensors* reference,
                 const std::vector<Pattern>& unfused) {
  return Decider(mesh, questions, cards, reference, unfused).decide();
}

}  // namespace ckpt::drafting
