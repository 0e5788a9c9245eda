#include "diagnosis/likeness/likeness.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "compare/mismatch.hpp"
#include "jobs/types/name_mapping.hpp"
#include "layout/names/characters.hpp"
#include "layout/names/name_groups.hpp"
#include "layout/placement/number_ties.hpp"
#include "tensor/number.hpp"

namespace ckpt {

namespace likeness {

namespace {

constexpr std::size_t most_kinds = 3;         // of which a change is looked for
constexpr std::size_t most_changes = 64;      // of a rule
constexpr std::size_t most_others = 256;      // tensors that may be meant
constexpr std::size_t most_boxes_again = 32;  // that are read again for each change
constexpr std::size_t most_layers = 8;        // of which others are looked for
constexpr std::size_t most_boxes_of_layer = 2;
constexpr double least_of_order = 0.35;  // correlation of a layer with the one that it is

std::string in_words(double correlation) {
  char text[16];
  // Rounded down, as 1.00 would be the same tensor.
  std::snprintf(text, sizeof text, "%.2f", std::floor(correlation * 100) / 100);
  return text == std::string("-0.00") ? "0.00" : text;
}

std::string in_words(const std::vector<std::string>& names) {
  if (names.size() == 1) return "parameter '" + names.front() + "'";
  std::vector<std::string> patterns;
  for (const NameGroup& group : group_names(names)) patterns.push_back(group.pattern);
  return std::to_string(names.size()) + " parameters (" + join(patterns) + ")";
}

/// A glob for each kind of parameter, a line each.
std::string patterns_of(const std::vector<std::string>& names) {
  std::string lines;
  for (const NameGroup& group : group_names(names)) lines += (lines.empty() ? "" : "\n") + group.pattern;
  return lines;
}

/// Numbers of one byte are codes of a quantised weight, whose scales are elsewhere.
bool is_comparable(const Tensor& tensor) {
  const auto format = number_format(tensor.dtype);
  return !tensor.verbatim && format && format->is_float && format->size > 1;
}

/// Whether names of one kind differ in one number.
bool differ_once(const std::string& a, const std::string& b) {
  const auto [from, of_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto [rest, rest_of_b] =
      std::mismatch(a.rbegin(), std::make_reverse_iterator(from), b.rbegin(), std::make_reverse_iterator(of_b));
  return std::all_of(from, rest.base(), is_digit) && std::all_of(of_b, rest_of_b.base(), is_digit);
}

class Search {
 public:
  Search(const LikenessSources& sources, Communicator& processes)
      : sources_(sources),
        processes_(processes),
        other_(sources.other, sources.of_other, sources.store, sources.memory, sources.most_open),
        compared_{sources.planner, sources.readers, sources.reader, other_, sources.threads} {}

  LikenessFound find(const std::vector<Pattern>& excused) {
    choose();
    samples_ = answers(questions_, compared_, processes_);
    verdict_ = judge(samples_);
    LikenessFound found;
    if (!verdict_.typical) return found;
    found.is_compared = true;
    found.typical = *verdict_.typical;
    found.tells = verdict_.can_tell();
    const auto is_excused = [&](const std::string& name) {
      return std::ranges::any_of(excused, [&](const Pattern& pattern) { return pattern.matches(name); });
    };
    if (!found.tells) {
      find_order(is_excused, found);
      return found;
    }
    std::erase_if(verdict_.unlike, [&](const Unlike& each) { return is_excused(samples_[each.sample].name); });
    if (verdict_.unlike.empty()) return found;
    for (const Unlike& each : verdict_.unlike) found.unlike.push_back(samples_[each.sample].name);
    const Unlike& first = verdict_.unlike.front();
    found.first = "correlation " + in_words(first.correlation) + place_of(first);
    found.change = fitting_change();
    return found;
  }

 private:
  const std::vector<Tensor>& made() const { return sources_.planner.target().tensors(); }

  void choose() {
    std::vector<SampledTensor> tensors;
    std::uint64_t bytes = 0;
    const auto ties = number_ties(made());  // scales follow the largest code of a block, and move more than weights
    for (ParameterId p = 0; p < made().size(); ++p) {
      bytes += made()[p].bytes();
      if (ties[p]) continue;
      if (sources_.is_weight && !sources_.is_weight(p)) continue;
      if (const auto other = namesake(p))
        tensors.push_back({made()[p].name, p, *other, Shape(made()[p].shape), sources_.planner.links(p)});
    }
    for (TensorBoxes& boxes : choose_boxes(tensors, bytes)) {
      const SampledTensor& tensor = tensors[boxes.tensor];
      questions_.push_back(question(sources_.planner, tensor.parameter, tensor.other, std::move(boxes)));
    }
  }

  /// The other checkpoint's tensor of this name, if both are of real numbers.
  std::optional<ParameterId> namesake(ParameterId parameter) const {
    const Tensor& tensor = made()[parameter];
    const auto other = sources_.of_other.find(tensor.name);
    if (!other || tensor.shape.empty() || numel(tensor.shape) == 0) return std::nullopt;
    const Tensor& there = sources_.of_other.tensors()[*other];
    const Tensor& from = sources_.planner.source().tensors()[sources_.planner.source_of(parameter)];
    const bool are_comparable = is_comparable(from) && is_comparable(tensor) && is_comparable(there);
    return are_comparable && there.shape == tensor.shape ? other : std::nullopt;
  }

  Question question(const Planner& planner, ParameterId parameter, ParameterId other, TensorBoxes boxes) const {
    return {&planner, parameter, other, sources_.of_other.tensors()[other].dtype, std::move(boxes)};
  }

  /// " at [512, 0]": where the block is that is least like its counterpart.
  std::string place_of(const Unlike& unlike) const {
    if (!unlike.block) return "";
    const Question& of = questions_[unlike.sample];
    std::size_t left = *unlike.block;
    for (std::size_t box = 0; box < of.boxes.boxes.size(); ++box) {
      const auto blocks = blocks_of(of.boxes, box, samples_[unlike.sample].shape);
      if (left >= blocks.size()) {
        left -= blocks.size();
        continue;
      }
      const Box& place = of.boxes.boxes[box];
      Shape index = index_of(blocks[left].lo, place.shape());
      for (std::size_t d = 0; d < index.size(); ++d) index[d] += place.lo[d];
      return " at " + to_string(index);
    }
    return "";
  }

  /// The change that fits the first tensor of some kind.
  std::string fitting_change() {
    std::set<std::string> kinds;
    for (const Unlike& each : verdict_.unlike) {
      const std::string kind = kind_of(samples_[each.sample].name);
      if (kinds.size() == most_kinds) break;
      if (!kinds.insert(kind).second) continue;
      if (each.other) return exchanged(samples_[*each.other].name, 0);
      if (std::string change = change_for(each); !change.empty()) return change;
    }
    return "";
  }

  std::string exchanged(const std::string& name, double correlation) const {
    const std::string how = correlation == 0 ? "" : " (" + in_words(correlation) + ")";
    return "it is like '" + name + "' of " + sources_.other_name + how + ": is its name right?";
  }

  /// The correlation of a sample of elements that are all in their places; nothing for another sample.
  std::optional<double> fit(const TensorSample& sample) const {
    Moments whole;
    for (const Moments& block : sample.blocks) {
      whole.add(block);
      if (const auto r = block.correlation(); sample.is_cut_anew && r && *r < verdict_.least) return std::nullopt;
    }
    const auto r = whole.correlation();
    return r && *r >= verdict_.least ? r : std::nullopt;
  }

  std::string change_for(const Unlike& unlike) {
    const Question& of = questions_[unlike.sample];
    TensorBoxes boxes = of.boxes;
    boxes.is_cut_anew = true;
    if (boxes.boxes.size() > most_boxes_again) boxes.boxes.resize(most_boxes_again);
    std::vector<Question> questions;
    std::vector<std::string> texts;  // parallel: of a rule; empty: another name
    for (const ParameterId other : others_of(of))
      questions.push_back(question(sources_.planner, of.parameter, other, boxes));
    texts.resize(questions.size());
    std::vector<Planner> planners;
    planners.reserve(most_changes);  // questions point to them
    agree(processes_, [&] {
      for (const NameMapping::Change& change : rule_changes(made()[of.parameter].name)) {
        if (planners.size() == most_changes) break;
        planners.push_back(planner_of(of.parameter, change));
        questions.push_back(question(planners.back(), of.parameter, of.other, boxes));
        texts.push_back(change.text);
      }
    });
    const std::vector<TensorSample> tried = answers(questions, compared_, processes_);
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < tried.size(); ++i)
      if (const auto r = fit(tried[i]); r && (!best || *r > *fit(tried[*best]))) best = i;
    if (!best) return "";
    const double correlation = *fit(tried[*best]);
    return texts[*best].empty() ? exchanged(sources_.of_other.tensors()[questions[*best].other].name, correlation)
                                : texts[*best] + ", which gives " + in_words(correlation);
  }

  /// Searches for another order of the layers, if no layer is like its namesake: each may be like another layer of the
  /// other checkpoint.
  template <class IsExcused>
  void find_order(const IsExcused& is_excused, LikenessFound& found) {
    std::map<std::string, std::vector<std::size_t>> kinds;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const std::string kind = kind_of(samples_[i].name);
      const auto r = correlation_of(samples_[i]);  // constants, such as fresh adapters, tell nothing
      if (!samples_[i].is_vector() && std::ranges::count(kind, '#') == 1 && !is_excused(samples_[i].name) && r &&
          *r < least_of_order)
        kinds[kind].push_back(i);
    }
    std::vector<std::vector<std::size_t>> tried;
    for (const auto& [kind, members] : kinds) tried.push_back(members);
    std::ranges::stable_sort(tried, std::greater(), [](const auto& members) { return members.size(); });
    if (tried.size() > most_kinds) tried.resize(most_kinds);
    for (std::vector<std::size_t>& layers : tried) {
      if (layers.size() > most_layers) layers.resize(most_layers);
      if (!take_order(layers, found)) continue;
      for (const auto& [kind, members] : kinds)
        for (const std::size_t i : members) found.unlike.push_back(samples_[i].name);
      return;
    }
  }

  /// Says of which layers these samples are, if there are several, and each is like another one.
  bool take_order(const std::vector<std::size_t>& layers, LikenessFound& found) {
    if (layers.size() < 2) return false;
    std::vector<Question> questions;
    std::vector<std::size_t> ends;  // of each layer's questions
    for (const std::size_t layer : layers) {
      const Question& of = questions_[layer];
      TensorBoxes boxes = of.boxes;
      if (boxes.boxes.size() > most_boxes_of_layer) boxes.boxes.resize(most_boxes_of_layer);
      for (const ParameterId other : others_of(of, true))
        questions.push_back(question(sources_.planner, of.parameter, other, boxes));
      ends.push_back(questions.size());
    }
    const std::vector<TensorSample> tried = answers(questions, compared_, processes_);
    std::vector<std::string> ours;
    std::vector<std::string> theirs;
    double least = 1;
    for (std::size_t n = 0, q = 0; n < layers.size(); ++n) {
      double most = 0;
      const Question* like = nullptr;
      for (; q < ends[n]; ++q)
        if (const double r = correlation_of(tried[q]).value_or(0); r > most) {
          most = r;
          like = &questions[q];
        }
      least = std::min(least, most);
      if (least < least_of_order) return false;
      ours.push_back(layer_of(samples_[layers[n]].name));
      theirs.push_back(layer_of(sources_.of_other.tensors()[like->other].name));
    }
    if (std::set(theirs.begin(), theirs.end()).size() != theirs.size()) return false;
    found.tells = true;
    found.first = "correlation " + in_words(*verdict_.typical);
    found.typical = least;
    found.change = join(ours, most_layers) + " are like " + join(theirs, most_layers) + " of " + sources_.other_name +
                   ": is the order of the layers right?";
    return true;
  }

  static std::optional<double> correlation_of(const TensorSample& sample) {
    Moments whole;
    for (const Moments& block : sample.blocks) whole.add(block);
    return whole.correlation();
  }

  std::vector<NameMapping::Change> rule_changes(const std::string& name) const {
    if (!sources_.names.mapping) return {};
    return sources_.names.mapping->changes(taken_by_map(sources_.names, sources_.planner.source()), name);
  }

  Planner planner_of(ParameterId parameter, const NameMapping::Change& change) const {
    std::vector<ParameterId> source_of(made().size());
    Planner::Links links(made().size());
    source_of[parameter] = change.origin.first;
    links[parameter] = change.origin.links;
    return {sources_.planner.source(), sources_.planner.target(), std::move(source_of), sources_.readers,
            std::move(links)};
  }

  /// Tensors of the other checkpoint with the same shape: in the same layer, or of the same kind under other numbers.
  std::vector<ParameterId> others_of(const Question& question, bool are_of_kind = false) const {
    std::vector<ParameterId> others;
    const std::vector<Tensor>& all = sources_.of_other.tensors();
    const std::string name = all[question.other].name;
    const auto take = [&](auto is_meant) {
      for (ParameterId p = 0; p < all.size() && others.size() < most_others; ++p)
        if (p != question.other && all[p].shape == all[question.other].shape && all[p].dtype == question.other_dtype &&
            is_meant(all[p].name))
          others.push_back(p);
    };
    if (!are_of_kind) take([layer = layer_of(name)](const std::string& other) { return layer_of(other) == layer; });
    take([&, kind = kind_of(name)](const std::string& other) {
      return kind_of(other) == kind && differ_once(other, name);
    });
    return others;
  }

  const LikenessSources& sources_;
  Communicator& processes_;
  SourceReader other_;
  Compared compared_;
  std::vector<Question> questions_;
  std::vector<TensorSample> samples_;  // parallel
  Verdict verdict_;
};

}  // namespace

}  // namespace likeness

LikenessFound find_unlike(const LikenessSources& sources, const std::vector<Pattern>& excused,
                          Communicator& processes) {
  if (!sources.other.is_shared()) return {};  // files that lie on some nodes alone
  return likeness::Search(sources, processes).find(excused);
}

void check_likeness(const LikenessSources& sources, const std::vector<Pattern>& excused, Communicator& processes) {
  const LikenessFound found = find_unlike(sources, excused, processes);
  if (!found.is_compared) return;
  const std::string typical = likeness::in_words(found.typical);
  if (!found.tells)
    return log::warn(
        "{}: its weights are of another training (correlation {}), so that they do not show whether "
        "elements are in their places; ckpt verify with another export of this step does",
        sources.other_name, typical);
  if (found.unlike.empty()) return;
  agree(processes, [&] {
    throw Error(Kind::input, likeness::in_words(found.unlike),
                {found.first + " with " + sources.other_name + ", as if elements were in other places",
                 "about " + typical + " as other parameters have",
                 found.change.empty() ? "look whether the map and the layout are right" : found.change,
                 {Advice::What::excuse_unlike, likeness::patterns_of(found.unlike)}})
        .of_parameter(found.unlike.front());
  });
}

std::string likeness_in_words(const LikenessSources& sources, Communicator& processes) {
  const LikenessFound found = find_unlike(sources, {}, processes);
  const std::string typical = likeness::in_words(found.typical);
  if (!found.is_compared) return "";
  if (!found.tells)
    return "by samples they are of two trainings (correlation " + typical +
           "), so that nothing tells whether the map is right";
  if (found.unlike.empty())
    return "by samples the map is right, and both are of one training (correlation " + typical + ")";
  return "by samples elements are in other places in " + likeness::in_words(found.unlike) + ": " + found.first +
         ", where others have " + typical + (found.change.empty() ? "" : "; " + found.change);
}

}  // namespace ckpt
