#include "draft/decide.hpp"

#include <algorithm>
#include <set>

#include "draft/search.hpp"
#include "draft/trial.hpp"
#include "layout/name_groups.hpp"

namespace ckpt::drafting {

namespace {

/// The keys as they stand in a rule: {"split": ["tp"]}.
std::string shown(const Keys& keys, const Mesh& mesh) {
  const std::string text = keys_text(keys, mesh);
  const std::string begin = R"({"name": "p")";
  const std::size_t from = text.find(begin) + begin.size();
  std::string shown = text.substr(from, text.rfind("\n  ]") - from);
  if (shown == "}") return "whole on every card";
  return "{" + shown.substr(2);
}

std::string axes_text(const Mesh& mesh, const std::vector<Axis>& axes) {
  std::vector<std::string> words;
  for (const Axis axis : axes) words.push_back(mesh.axes[axis] + "=" + std::to_string(mesh.shape[axis]));
  return join(words, words.size());
}

class Decider {
 public:
  Decider(const Layout& layout, const std::vector<Question>& questions, CardData& cards, WholeTensors* reference)
      : mesh_(layout.mesh), questions_(questions), cards_(cards), search_(mesh_, cards, reference) {
    for (const Question& question : questions) by_name_[question.name] = &question;
  }

  Decisions decide() {
    // Matrices before vectors: the parts that their data prove are those of the biases, too.
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
    const std::vector<Axis> differing = differing_axes(mesh_, question.pieces);
    const std::size_t rank = question.first().shape.size();
    if (!question.expected && differing.empty() && !(question.is_constant && volume(question.first().shape) > 1)) {
      Keys keys;
      if (!question.presence.at.empty()) {
        keys.at = question.presence.at;
        keys.at_last = question.presence.at_last;
      }
      decisions_.keys[question.name] = keys;
      return;
    }
    std::vector<Keys> fitting = search_.fitting(question);
    // Without whole tensors, equal pieces of one dimension may as well be of something flat.
    const bool is_proven = question.expected || (rank > 0 && has_uneven_pieces(question));
    if (fitting.size() == 1 && is_proven)
      decisions_.keys[question.name] = fitting.front();
    else
      undecided_[question.name] = std::move(fitting);
  }

  static bool has_uneven_pieces(const Question& question) {
    return std::any_of(question.pieces.begin(), question.pieces.end(), [&](const Piece& piece) {
      return piece.array != nullptr && !(piece.array->shape == question.first().shape);
    });
  }

  /// Takes the keys of a parameter that this one's name is made from, or of one whose name differs in numbers only, if
  /// they are among those that fit, or store the same shapes on the same cards.
  bool follow(const Question& question, const std::vector<Keys>& fitting) {
    std::vector<std::string> leaders;
    const std::string& name = question.name;
    for (std::size_t at = name.find_first_of("./"); at != std::string::npos; at = name.find_first_of("./", at + 1)) {
      leaders.push_back(name.substr(at + 1));
      leaders.push_back(name.substr(0, at));
    }
    if (question.expected)
      for (const auto& [other, keys] : decisions_.keys)
        if (group_names({name, other}).size() == 1) leaders.push_back(other);
    for (const std::string& leader : leaders) {
      const auto keys = decisions_.keys.find(leader);
      if (keys == decisions_.keys.end()) continue;
      const std::string text = keys_text(keys->second, mesh_);
      const bool is_fitting =
          std::any_of(fitting.begin(), fitting.end(), [&](const Keys& each) { return keys_text(each, mesh_) == text; });
      if (!is_fitting && (question.expected || !is_declared_alike(question, *by_name_.at(leader)))) continue;
      decisions_.keys[name] = keys->second;
      decisions_.followed[name] = leader;
      return true;
    }
    return false;
  }

  bool is_declared_alike(const Question& a, const Question& b) const {
    for (std::size_t p = 0; p < a.pieces.size(); ++p) {
      const StoredArray* ours = a.pieces[p].array;
      const StoredArray* theirs = b.pieces[p].array;
      if ((ours == nullptr) != (theirs == nullptr)) return false;
      if (ours != nullptr && !(ours->shape == theirs->shape)) return false;
    }
    const auto differing = differing_axes(mesh_, a.pieces);
    const auto leading = differing_axes(mesh_, b.pieces);
    return std::includes(leading.begin(), leading.end(), differing.begin(), differing.end());
  }

  Open left_open(const Question& question, const std::vector<Keys>& fitting) const {
    constexpr std::size_t most = 4;
    Open open;
    const std::vector<Axis> differing = differing_axes(mesh_, question.pieces);
    const Extents& shape = question.first().shape;
    const std::string wanted = question.expected ? " for " + to_string(*question.expected) : "";
    const std::string pieces = to_string(shape) + wanted;
    if (question.is_constant && !differing.empty() && has_uneven_pieces(question))
      open.found = "pieces of " + pieces + " and other shapes, all elements of one value";
    else if (question.is_constant)
      open.found = pieces + " on each card, all elements of one value, so that equal bytes prove nothing";
    else
      open.found = "different pieces of " + pieces + " over " + axes_text(mesh_, differing);
    for (const Keys& keys : fitting)
      if (open.candidates.size() < most) open.candidates.push_back(shown(keys, mesh_));
    if (!question.expected && shape.size() == 1 && !differing.empty())
      open.candidates.emplace_back("a member of \"buckets\", or \"flat\"");
    if (!question.expected && shape.empty()) open.candidates.emplace_back(R"({"replicas": "first"})");
    if (!question.expected) {
      open.needed = "the whole tensors";
      open.advice.what = Advice::What::give_tensors;
    } else if (!question.has_data) {
      open.needed = "whole tensors of this dtype, not their shapes alone";
      open.advice.what = Advice::What::give_tensors;
    } else if (fitting.empty()) {
      open.needed = "no rule that is tried gives the whole tensor: is the mesh the job's own?";
      open.advice.what = Advice::What::give_mesh;
    } else {
      open.needed = "which of them it is";
    }
    return open;
  }

  /// Pieces that divide fit every word for `uneven`. Where the others of the checkpoint all fit one, that is said of
  /// all: it makes no difference on this mesh, and is what another takes.
  void unify_uneven() {
    for (const Uneven word : {Uneven::ceil, Uneven::balanced}) {
      std::map<std::string, Keys> changed;
      bool is_needed = false;
      bool fits_all = true;
      for (const auto& [name, keys] : decisions_.keys) {
        if (!keys.split || keys.pad || keys.sizes) continue;
        is_needed = is_needed || keys.uneven;
        Keys other = keys;
        other.uneven = word;
        if (keys.uneven != word && !Trial(mesh_, *by_name_.at(name), cards_, nullptr).resolved(other)) {
          fits_all = false;
          break;
        }
        changed[name] = std::move(other);
      }
      if (!is_needed) return;
      if (!fits_all) continue;
      for (auto& [name, keys] : changed) decisions_.keys[name] = std::move(keys);
      return;
    }
  }

  const Mesh& mesh_;
  const std::vector<Question>& questions_;
  CardData& cards_;
  Search search_;
  std::map<std::string, const Question*> by_name_;
  std::map<std::string, std::vector<Keys>> undecided_;
  Decisions decisions_;
};

}  // namespace

Decisions decide(const Layout& layout, const std::vector<Question>& questions, CardData& cards,
                 WholeTensors* reference) {
  return Decider(layout, questions, cards, reference).decide();
}

}  // namespace ckpt::drafting
