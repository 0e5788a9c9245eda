#include "diagnosis/draft/numbering.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "diagnosis/draft/counters.hpp"
#include "diagnosis/draft/questions.hpp"
#include "diagnosis/draft/search.hpp"
#include "layout/language/rule_json.hpp"
#include "layout/names/name_groups.hpp"

namespace ckpt::drafting {

namespace {

class NameNumbering {
 public:
  NameNumbering(Layout& layout, const std::vector<NameFacts>& facts, CardData& cards, WholeTensors* reference)
      : layout_(layout), facts_(facts), cards_(cards), reference_(reference) {
    std::vector<std::string> expected;
    if (reference != nullptr)
      for (const Tensor& tensor : reference->tensors()) expected.push_back(tensor.name);
    counters_ = counters(facts, expected);
    for (const NameFacts& fact : facts) fact_of_[fact.name] = &fact;
  }

  NumbersLeft number() {
    NumbersLeft result;
    std::vector<std::size_t> left;
    for (std::size_t c = 0; c < counters_.size(); ++c) {
      const std::vector<Axis> apart = axes_told_apart(counters_[c]);
      candidates_.push_back(index_candidates(counters_[c], layout_.mesh));
      std::erase_if(candidates_[c], [&](const IndexRule& rule) {
        return rule.numbering == ckpt::Numbering::local &&
               !std::all_of(rule.axes.begin(), rule.axes.end(),
                            [&](Axis a) { return std::find(apart.begin(), apart.end(), a) != apart.end(); });
      });
      possible_.push_back(possible(counters_[c], apart));
      if (!candidates_[c].empty() || !is_explained(counters_[c])) left.push_back(c);
    }
    // One counter may be nested in another (experts in layers): begins with those whose names have no other left.
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (auto c = left.begin(); c != left.end();) {
        const bool is_settled = settle(*c, left);
        c = is_settled ? left.erase(c) : std::next(c);
        goes_on = goes_on || is_settled;
      }
    }
    result.may_count = may_count();
    for (const std::size_t c : left) {
      for (const std::string& name : counters_[c].names) result.open[name] = why_open(c);
      result.unexplained.emplace_back(counters_[c].in, std::set<std::string>{"i"});
    }
    return result;
  }

 private:
  /// Whether the numbers need no entry of `indices`.
  static bool is_explained(const Counter& counter) {
    std::set<std::uint64_t> all;
    for (const auto& numbers : counter.found) all.insert(numbers.begin(), numbers.end());
    return counter.expected.empty() || counter.expected == all;
  }

  /// The axes along which all data with these numbers differs: along any other axis, equal numbers cannot mean
  /// different layers.
  std::vector<Axis> axes_told_apart(const Counter& counter) const {
    std::vector<Axis> apart;
    for (Axis axis = 0; axis < layout_.mesh.axes.size(); ++axis)
      if (layout_.mesh.shape[axis] > 1) apart.push_back(axis);
    for (const std::string& name : counter.names) {
      const NameFacts& facts = *fact_of_.at(name);
      if (facts.is_constant) continue;
      const std::vector<Axis> differing = differing_axes(layout_.mesh, classes_of(facts.pieces));
      std::erase_if(apart, [&](Axis a) { return std::find(differing.begin(), differing.end(), a) == differing.end(); });
    }
    return apart;
  }

  /// Without whole tensors, names that count from 0 on every card may count separately on each.
  std::vector<IndexRule> possible(const Counter& counter, const std::vector<Axis>& apart) const {
    const bool is_everywhere =
        std::adjacent_find(counter.found.begin(), counter.found.end(), std::not_equal_to<>()) == counter.found.end();
    std::vector<IndexRule> rules;
    if (!counter.expected.empty() || !is_everywhere || !counts_from_zero(counter.found.front())) return rules;
    for (const Axis axis : apart) {
      IndexRule& rule = rules.emplace_back();
      rule.in = Pattern(counter.in, {"i"});
      rule.axes = {axis};
      rule.numbering = ckpt::Numbering::local;
    }
    return rules;
  }

  /// For each name the entries for its counters: pairs of two counters first (experts in layers), then each alone.
  std::map<std::string, std::vector<std::string>> may_count() const {
    std::map<std::string, std::vector<const IndexRule*>> rules;
    for (std::size_t c = 0; c < counters_.size(); ++c)
      for (const std::string& name : counters_[c].names)
        for (const IndexRule& rule : possible_[c]) rules[name].push_back(&rule);
    std::map<std::string, std::vector<std::string>> texts;
    for (const auto& [name, own] : rules) {
      std::vector<std::string>& text = texts[name];
      for (std::size_t a = 0; a < own.size(); ++a)
        for (std::size_t b = a + 1; b < own.size(); ++b)
          if (own[a]->in.text() != own[b]->in.text() && own[a]->axes != own[b]->axes)
            text.push_back(shown({own[a], own[b]}));
      for (const IndexRule* rule : own) text.push_back(shown({rule}));
    }
    return texts;
  }

  bool settle(std::size_t counter, const std::vector<std::size_t>& left) {
    const std::vector<IndexRule>& candidates = candidates_[counter];
    if (candidates.size() == 1 && candidates.front().numbering == ckpt::Numbering::global) {
      layout_.indices.push_back(candidates.front());
      return true;
    }
    if (reference_ == nullptr || candidates.empty()) return false;
    const std::vector<std::string> witnesses = witnesses_for(counter, left);
    if (witnesses.empty()) return false;
    std::vector<IndexRule> fitting;
    for (const IndexRule& candidate : candidates)
      if (is_witnessed(candidate, witnesses)) fitting.push_back(candidate);
    if (fitting.size() != 1) return false;
    layout_.indices.push_back(fitting.front());
    return true;
  }

  /// The smallest parameters, under all their numbers, that have this counter and no other that is left.
  std::vector<std::string> witnesses_for(std::size_t counter, const std::vector<std::size_t>& left) const {
    std::set<std::string> others;
    for (const std::size_t other : left)
      if (other != counter) others.insert(counters_[other].names.begin(), counters_[other].names.end());
    std::vector<std::string> alone;
    for (const std::string& name : counters_[counter].names)
      if (!others.contains(name) && reference_->find(name) != nullptr) alone.push_back(name);
    std::vector<std::string> best;
    std::uint64_t least = 0;
    for (NameGroup& group : group_names(alone)) {
      const bool is_constant = std::any_of(group.names.begin(), group.names.end(),
                                           [&](const std::string& name) { return fact_of_.at(name)->is_constant; });
      const std::uint64_t size = numel(first_array(fact_of_.at(group.names.front())->pieces).shape);
      if (is_constant || size == 0 || (!best.empty() && size >= least)) continue;
      best = std::move(group.names);
      least = size;
    }
    return best;
  }

  bool is_witnessed(const IndexRule& candidate, const std::vector<std::string>& witnesses) {
    Layout layout = layout_;
    layout.indices.push_back(candidate);
    try {
      const Questions questions = ask(layout, facts_, reference_, witnesses);
      if (!questions.open.empty()) return false;
      Search search(layout.mesh, cards_, reference_);
      return std::all_of(questions.all.begin(), questions.all.end(), [&](const Question& question) {
        return question.expected && reference_->find(question.name) != nullptr && !search.fitting(question).empty();
      });
    } catch (const Error& refused) {
      if (refused.kind() == Kind::io) throw;
      return false;  // a number beyond its block
    }
  }

  Open why_open(std::size_t counter) const {
    Open open;
    std::set<std::uint64_t> all;
    for (const auto& numbers : counters_[counter].found) all.insert(numbers.begin(), numbers.end());
    open.found = counters_[counter].in + " has " + std::to_string(all.size()) + " numbers in the files, " +
                 std::to_string(counters_[counter].expected.size()) + " in the whole tensors";
    for (const IndexRule& rule : candidates_[counter]) open.candidates.push_back(shown({&rule}));
    if (open.candidates.empty()) {
      open.needed = "the job's own mesh, if these are the whole tensors of this checkpoint";
      open.advice.what = Advice::What::give_mesh;
    } else {
      open.needed = "the job's pipeline schedule, or the data of the whole tensors";
      open.advice.what = Advice::What::give_tensors;
    }
    return open;
  }

  /// The text to be added to a layout.
  std::string shown(const std::vector<const IndexRule*>& rules) const {
    std::vector<std::string> entries;
    for (const IndexRule* rule : rules) entries.push_back(to_json(*rule, layout_.mesh));
    return R"("indices": [)" + join(entries, entries.size()) + "]";
  }

  Layout& layout_;
  const std::vector<NameFacts>& facts_;
  CardData& cards_;
  WholeTensors* reference_;
  std::vector<Counter> counters_;
  std::vector<std::vector<IndexRule>> candidates_;
  std::vector<std::vector<IndexRule>> possible_;  // parallel to counters_
  std::map<std::string, const NameFacts*> fact_of_;
};

}  // namespace

NumbersLeft number_names(Layout& layout, const std::vector<NameFacts>& facts, CardData& cards,
                         WholeTensors* reference) {
  return NameNumbering(layout, facts, cards, reference).number();
}

}  // namespace ckpt::drafting
