#include "layout/maps/mapped_tensors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.hpp"
#include "layout/maps/map_names.hpp"
#include "layout/maps/tensor_form.hpp"
#include "layout/names/name_groups.hpp"
#include "layout/placement/quantised_weights.hpp"

namespace ckpt {

namespace {

constexpr std::size_t most_targets = std::size_t{1} << 22;
constexpr std::size_t most_ties = 8;  // in a row

std::set<std::string> axes_in_names(const MapRule& rule) {
  std::set<std::string> axes;
  for (const auto& of_side : rule.tensors)
    for (const TensorTemplate& text : of_side)
      for (const NameCapture& capture : text.captures())
        if (!capture.is_text) axes.insert(capture.axes.begin(), capture.axes.end());
  return axes;
}

std::vector<std::string> number_axes(const TensorTemplate& text) {
  std::vector<std::string> axes;
  for (const NameCapture& capture : text.captures())
    if (!capture.is_text) axes.insert(axes.end(), capture.axes.begin(), capture.axes.end());
  return axes;
}

/// For each stack of a map, whether names speak of it with the number in the name (false) or stacked (true).
std::vector<bool> stacked_in(const NameMap& map, const std::vector<std::string>& names) {
  std::vector<bool> is_stacked;
  for (const StackedNames& stack : map.stacks) {
    bool has_stacked = false;
    bool has_number = false;
    for (const std::string& name : names) {
      const std::size_t at = name.find(stack.stacked);
      if (at == std::string::npos || at + stack.stacked.size() == name.size()) continue;
      const char next = name[at + stack.stacked.size()];
      (next >= '0' && next <= '9' ? has_number : has_stacked) = true;
    }
    is_stacked.push_back(has_stacked && !has_number);
  }
  return is_stacked;
}

std::vector<bool> stacked_in_target(const NameMap& map, const MapWish& wish) {
  std::vector<bool> is_stacked = stacked_in(map, wish.names);
  if (!wish.names.empty() || !wish.is_stacked) return is_stacked;
  for (std::size_t i = 0; i < is_stacked.size(); ++i) is_stacked[i] = wish.is_stacked(map.stacks[i]).value_or(false);
  return is_stacked;
}

/// The conversion of one checkpoint's tensors.
class Conversion {
 public:
  Conversion(const NameMap& map, const MapSizes& sizes, MapSide from, const MapSource& source, const MapWish& wish,
             const KeepMade& is_kept)
      : map_(map),
        sizes_(sizes),
        from_(from),
        to_(other_side(from)),
        source_(source),
        wish_(wish),
        is_kept_(is_kept),
        wanted_(wish.names.begin(), wish.names.end()),
        from_names_(map, sizes, from_, stacked_in(map, source.names())),
        to_names_(map, sizes, to_, stacked_in_target(map, wish)),
        is_skipped_(map.rules.size(), false),
        is_used_(map.rules.size(), false) {
    for (const MapRule& rule : map.rules) name_axes_.push_back(axes_in_names(rule));
    for (const auto& [tensor, number] : source.tensors) in_source_.insert({tensor.name, without_folder(tensor.name)});
  }

  MappedTensors convert() {
    if (!wish_.names.empty()) skip_unwanted_rules();
    for (const auto& [tensor, number] : source_.tensors) take(tensor.name, tensor, number);
    refuse_unknown();
    check_scales();
    if (source_.are_all) check_complete();
    if (!map_.tied.empty()) add_tied();
    check_arithmetic();
    for (const auto& [name, draft] : drafts_) build(name, draft);
    tell_passed_over();
    return std::move(result_);
  }

 private:
  /// A tensor of the source, and the rule's tensor that it is.
  struct Taken {
    const Tensor* tensor = nullptr;
    ParameterId number = 0;
    SideNames::Match match;
  };
  /// A tensor of the target that some rule makes.
  struct Draft {
    std::size_t rule = 0;
    std::size_t tensor = 0;
    AxisValues values;
    std::optional<std::size_t> state_pattern;  ///< of the source
    std::string state;
    std::string by;  ///< a source tensor
  };

  /// Scales in the source.
  struct Scales {
    const Tensor* tensor = nullptr;
    ParameterId number = 0;
    const CodeScales* of = nullptr;
  };

  /// A source tensor under a second name, and its first one.
  struct SecondName {
    std::string of;
    const Tensor* tensor = nullptr;
    ParameterId number = 0;
    std::size_t hops = 0;  ///< ties that led from the tensor's name to this one
  };

  /// The first name of a tensor that has this second one on a side.
  std::optional<std::string> first_name(MapSide side, const std::string& second) const {
    const SideNames& names = side == from_ ? from_names_ : to_names_;
    for (const TiedName& tied : map_.tied) {
      const auto values = tied.side == side ? names.values(tied.name, second) : std::nullopt;
      const auto axes = number_axes(tied.name);
      if (values && holds(tied.when, {axes.begin(), axes.end()}, *values, sizes_).value_or(false))
        return names.name(tied.of, *values);
    }
    return std::nullopt;
  }

  bool is_kept(const std::string& name) const { return !is_kept_ || is_kept_(name); }

  std::string where(std::size_t rule) const { return map_.rules[rule].place; }

  /// Skips rules with unexpected names if another rule takes the same source tensors.
  void skip_unwanted_rules() {
    std::vector<bool> is_wanted(map_.rules.size(), false);
    for (const std::string& name : wish_.names)
      for (std::size_t r = 0; r < map_.rules.size(); ++r)
        for (std::size_t t = 0; t < map_.rules[r].tensors[to_].size() && !is_wanted[r]; ++t)
          is_wanted[r] = is_named(to_names_.text(r, t), name);
    for (std::size_t r = 0; r < map_.rules.size(); ++r)
      is_skipped_[r] = !is_wanted[r] && has_wanted_rival(r, is_wanted);
  }

  bool is_named(const TensorTemplate& text, const std::string& name) const {
    if (text.pattern().matches(name) || text.pattern().matches(without_folder(name))) return true;
    return std::any_of(map_.states[to_].begin(), map_.states[to_].end(), [&](const Pattern& state) {
      const auto captures = state.match(name);
      return captures && text.pattern().matches(captures->at("name"));
    });
  }

  /// Whether a rule that is wanted has a tensor of this rule's on the source's side.
  bool has_wanted_rival(std::size_t rule, const std::vector<bool>& is_wanted) const {
    for (std::size_t r = 0; r < map_.rules.size(); ++r) {
      if (!is_wanted[r]) continue;
      for (const TensorTemplate& mine : map_.rules[rule].tensors[from_])
        for (const TensorTemplate& theirs : map_.rules[r].tensors[from_])
          if (mine.pattern() == theirs.pattern()) return true;
    }
    return false;
  }

  /// The rule for a tensor: the first that makes an expected name of it, and all of whose source tensors are there;
  /// without one, the first.
  std::optional<SideNames::Match> match(const std::string& name) {
    auto first = from_names_.match(name, is_skipped_);
    if (first && first->state_pattern && source_.has_weights && may_be_folder(*first) && !is_state(*first))
      return std::nullopt;
    if (!wish_.names.empty() || !wish_.is_named) return first;
    std::vector<bool> is_tried(map_.rules.size(), false);
    for (auto next = first; next; next = from_names_.match(name, is_tried)) {
      if (makes_named(*next) && is_complete(*next)) return next;
      is_tried[from_names_.entries()[next->entry].rule] = true;
    }
    return first;
  }

  /// Whether only its first word says that it is a state: other patterns begin with one that no weight has ("optim.").
  bool may_be_folder(const SideNames::Match& state) const {
    return map_.states[from_][*state.state_pattern].text().starts_with("{state}");
  }

  /// Whether some tensor's weight is beside a state of this kind, or no module is called so. Else it is a word before
  /// all names: "module".
  bool is_state(const SideNames::Match& state) {
    constexpr std::array<std::string_view, 5> states_alone{"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer",
                                                           "fp32_param"};
    if (std::ranges::find(states_alone, state.state) != states_alone.end()) return true;
    const auto has_weight = [&](const SideNames::Match& match) {
      return in_source_.contains(from_names_.name(from_names_.entries()[match.entry].text, match.values));
    };
    if (states_.contains(state.state) || has_weight(state)) return true;
    if (std::exchange(knows_states_, true)) return false;
    for (const auto& [tensor, number] : source_.tensors)
      if (const auto match = from_names_.match(tensor.name, is_skipped_);
          match && match->state_pattern && has_weight(*match))
        states_.insert(match->state);
    return states_.contains(state.state);
  }

  /// The places in its rule of the tensors that are made of this one.
  std::set<std::size_t> targets_of(const SideNames::Match& match) const {
    const SideNames::Entry& entry = from_names_.entries()[match.entry];
    std::set<std::size_t> targets;
    for (const auto& pair : map_.rules[entry.rule].pieces)
      if (pair[from_].tensor == entry.tensor) targets.insert(pair[to_].tensor);
    return targets;
  }

  /// Whether the output's layout has a name of what a rule makes of a tensor, or of the first of many.
  bool makes_named(const SideNames::Match& match) const {
    return std::ranges::any_of(targets_of(match), [&](std::size_t target) {
      const TensorTemplate& text = to_names_.text(from_names_.entries()[match.entry].rule, target);
      AxisValues values = match.values;
      for (const std::string& axis : number_axes(text)) values.numbers.try_emplace(axis, 0);
      const std::string name = to_names_.name(text, values);
      return wish_.is_named(name) || (match.state_pattern && to_names_.has_states() &&
                                      wish_.is_named(to_names_.state_name(0, match.state, name)));
    });
  }

  /// Whether the source has all tensors of the rule that have the numbers of this one.
  bool is_complete(const SideNames::Match& match) const {
    if (match.state_pattern) return true;  // as its weights
    const std::size_t rule = from_names_.entries()[match.entry].rule;
    for (std::size_t t = 0; t < map_.rules[rule].tensors[from_].size(); ++t) {
      const TensorTemplate& text = from_names_.text(rule, t);
      const auto has_value = [&](const std::string& axis) { return match.values.numbers.contains(axis); };
      if (!std::ranges::all_of(number_axes(text), has_value)) continue;
      if (!in_source_.contains(from_names_.name(text, match.values))) return false;
    }
    return true;
  }

  void take(const std::string& name, const Tensor& tensor, ParameterId number) {
    auto match = this->match(name);
    if (!match) return take_unmatched(name, tensor, number);
    if (match->state_pattern && !wish_.has_states) return void(++result_.states);
    const SideNames::Entry& entry = from_names_.entries()[match->entry];
    is_used_[entry.rule] = true;
    if (!match->state_pattern) found_.emplace(match->entry, match->values.texts);
    for (const std::size_t target : targets_of(*match)) {
      AxisValues values = match->values;
      const TensorTemplate& text = to_names_.text(entry.rule, target);
      check_count(tensor, *match, text, entry.rule);
      for_each_value(number_axes(text), sizes_, values,
                     [&](const AxisValues& all) { draft(name, entry.rule, target, text, all, *match); });
    }
    const std::string in_rules = match->name;
    if (!taken_.emplace(in_rules, Taken{&tensor, number, std::move(*match)}).second)
      throw Error(Kind::input, "'" + name + "'",
                  {"another name of '" + in_rules + "', which is there, too", "one of the two", "",
                   leaving_out({tensor.name.str()})});
  }

  /// Each tensor that is made of a part of another one has an element of it.
  void check_count(const Tensor& tensor, const SideNames::Match& match, const TensorTemplate& text,
                   std::size_t rule) const {
    std::uint64_t left = std::max<std::uint64_t>(numel(tensor.shape), 1);
    for (const std::string& axis : number_axes(text))
      if (!match.values.numbers.contains(axis)) left /= sizes_.size(axis);
    if (left == 0 && !(match.state_pattern && tensor.shape.empty()))
      throw Error(Kind::input, "'" + tensor.name + "'",
                  {"it has " + std::to_string(numel(tensor.shape)) + " elements, and " + where(rule) +
                       " makes more tensors of it",
                   "an element for each", "do the sizes fit this checkpoint? --size says them"})
          .of_parameter(tensor.name.str());
  }

  void draft(const std::string& by, std::size_t rule, std::size_t target, const TensorTemplate& text,
             const AxisValues& values, const SideNames::Match& match) {
    if (!holds(map_.rules[rule].when, name_axes_[rule], values, sizes_).value_or(true))
      throw Error(
          Kind::input, where(rule),
          {"\"when\" does not hold for all that '" + by + "' has", "a condition that holds for all of a tensor", ""});
    std::string name = to_names_.name(text, values);
    if (match.state_pattern) {
      if (!to_names_.has_states())
        throw Error(
            Kind::input, "'" + by + "'",
            {"the state of an optimizer, for which " + map_.origin + " has no name in \"" + map_.sides[to_] + "\"",
             "one in \"states\"", "", leaving_out({by})});
      name = to_names_.state_name(0, match.state, name);
    }
    if (std::string other = std::string(weights_folder) + name; wanted_.contains(other)) name = std::move(other);
    if (!is_kept(name) && !may_have_second(name)) return;
    Draft made{rule, target, {}, match.state_pattern, match.state, by};
    for (const std::string& axis : number_axes(text)) made.values.numbers[axis] = values.numbers.at(axis);
    made.values.texts = values.texts;
    const auto [known, is_new] = drafts_.try_emplace(name, std::move(made));
    if (drafts_.size() > most_targets)
      throw Error(Kind::input, where(rule),
                  {"it makes more than " + std::to_string(most_targets) + " tensors", "fewer", ""});
    if (!is_new && (known->second.rule != rule || known->second.tensor != target))
      throw Error(Kind::input, "'" + name + "'",
                  {"'" + known->second.by + "' (" + where(known->second.rule) + ") and '" + by + "' (" + where(rule) +
                       ") both make it",
                   "one source for each tensor", "", leaving_out({by})});
  }

  /// Whether the output may have this tensor under another name.
  bool may_have_second(const std::string& name) const {
    return !wanted_.empty() && std::ranges::any_of(map_.tied, [&](const TiedName& tied) {
      return tied.side == to_ && tied.of.pattern().matches(name);
    });
  }

  /// The tensor that is made and has this second name, in the folder of the name or in none.
  std::optional<std::string> first_made(const std::string& second, const std::string& folder) const {
    auto first = first_name(to_, second);
    for (std::size_t i = 0; first && i < most_ties; ++i) {  // one may be tied to another
      for (const std::string& made : {folder + *first, *first})
        if (drafts_.contains(made)) return made;
      first = first_name(to_, *first);
    }
    return std::nullopt;
  }

  /// A second name is written where it is expected; the first is not where a second one is expected in its place.
  void add_tied() {
    std::set<std::string> firsts;
    for (const std::string& name : wanted_) {
      if (drafts_.contains(name)) continue;
      for (const std::string& second : {name, without_folder(name)})
        if (const auto made = first_made(second, name.substr(0, name.size() - second.size()));
            made && !drafts_.contains(name)) {
          firsts.insert(*made);
          drafts_.emplace(name, drafts_.at(*made));
        }
    }
    std::erase_if(drafts_, [&](const auto& draft) {
      return !is_kept(draft.first) || (firsts.contains(draft.first) && !wanted_.contains(draft.first));
    });
  }

  void take_unmatched(const std::string& name, const Tensor& tensor, ParameterId number) {
    if (const auto scales = source_.scales.find(name); scales != source_.scales.end()) {
      scales_.emplace(scales->second.codes, Scales{&tensor, number, &scales->second});
      return;
    }
    const auto& drop = map_.drop[from_];
    if (std::any_of(drop.begin(), drop.end(), [&](const Pattern& each) { return each.matches(name); })) {
      result_.dropped.push_back(name);
      return;
    }
    for (const std::string& in_rules : {name, without_folder(name)})
      if (const auto of = first_name(from_, in_rules)) return void(tied_.push_back({*of, &tensor, number, hops_}));
    unknown_.push_back(tensor.name);
  }

  /// A rule's tensor for whose sizes a name has too large a number, `"layers.{l}.w" with l=3`; empty if there is none.
  std::string too_small_for(const std::string& name) const {
    for (const SideNames::Entry& entry : from_names_.entries()) {
      if (!entry.text.pattern().matches(name) || from_names_.values(entry.text, name)) continue;
      std::string words = "\"" + entry.text.name() + "\" with";
      for (const std::string& axis : number_axes(entry.text))
        words += " " + axis + "=" + std::to_string(sizes_.size(axis));
      return words;
    }
    return "";
  }

  void refuse_unknown() {
    for (std::size_t i = 0; i < tied_.size(); ++i) {  // one may be tied to another
      const SecondName second = tied_[i];
      const auto of = taken_.find(second.of);
      if (of != taken_.end())
        result_.equal.emplace_back(second.number, of->second.number);
      else if ((hops_ = second.hops + 1) <= std::min(map_.tied.size(), most_ties))
        take(second.of, *second.tensor, second.number);  // one of the two is enough
      else
        unknown_.push_back(second.tensor->name);  // ties that lead nowhere
    }
    if (unknown_.empty()) return;
    std::vector<std::string> texts;
    for (const SideNames::Entry& entry : from_names_.entries()) texts.push_back(entry.text.name());
    const std::string too_small = too_small_for(without_folder(unknown_.front()));
    const auto similar = nearest(unknown_.front(), texts, 1);
    const std::string nearest_text = !too_small.empty() || similar.empty() ? too_small : "\"" + similar.front() + "\"";
    const std::string without_prefix = advice_on_prefix(unknown_, [&](const std::string& name) {
      const auto match = from_names_.match(name, is_skipped_);
      return match && !match->state_pattern && !in_source_.contains(name);  // no second copy of the model (EMA)
    });
    const auto scales = std::ranges::find_if(unknown_, is_named_as_scales);  // of a quantised weight, perhaps
    const std::string remedy = !too_small.empty()        ? "do the sizes fit this checkpoint? --size says them"
                               : !without_prefix.empty() ? without_prefix
                                                         : "add rules, or \"drop\" what is no weight";
    throw Error(Kind::input, map_.origin,
                {"no rule takes " + join(unknown_) + " of side \"" + map_.sides[from_] + "\"" +
                     (nearest_text.empty() ? "" : ", and the nearest is " + nearest_text),
                 "a rule for each tensor", remedy, without_prefix.empty() ? leaving_out(unknown_) : Advice{}})
        .of_parameter(scales == unknown_.end() ? unknown_.front() : *scales);
  }

  void check_scales() {
    for (const auto& [codes, scales] : scales_)
      if (!taken_.contains(codes) && !taken_.contains(without_folder(codes)))
        throw Error(Kind::input, "'" + scales.tensor->name + "'",
                    {"'" + codes + "', whose scales it has, is not taken", "both", "",
                     leaving_out({scales.tensor->name.str()})});
  }

  /// Whether another rule has a tensor of this rule's, on either side: each of them may hold for a part of the layers.
  bool has_rival(std::size_t rule) const {
    for (std::size_t r = 0; r < map_.rules.size(); ++r)
      for (const MapSide side : {0, 1})
        for (const TensorTemplate& mine : map_.rules[rule].tensors[side])
          for (const TensorTemplate& theirs : map_.rules[r].tensors[side])
            if (r != rule && mine.pattern() == theirs.pattern()) return true;
    return false;
  }

  /// Each number that an axis of a name can have must be in some name, for every rule that has any.
  void check_complete() {
    for (const auto& [number, texts] : found_) {
      const SideNames::Entry& entry = from_names_.entries()[number];
      if (has_rival(entry.rule)) continue;
      std::size_t passed = 0;  // values for which the rule does not hold
      AxisValues values{{}, texts};
      for_each_value(number_axes(entry.text), sizes_, values, [&](const AxisValues& all) {
        if (!holds(map_.rules[entry.rule].when, name_axes_[entry.rule], all, sizes_).value_or(true)) {
          if (++passed > most_targets)
            throw Error(Kind::input, where(entry.rule), {"its axes have more than 2^22 values", "fewer", ""});
          return;
        }
        const std::string name = from_names_.name(entry.text, all);
        if (!taken_.contains(name))
          throw Error(Kind::input, "'" + name + "'",
                      {"it is not there, but others of " + where(entry.rule) + " are",
                       "all of \"" + entry.text.name() + "\"", "do the sizes fit this checkpoint? --size says them"});
      });
    }
  }

  /// The source tensor of a piece with these values.
  const Taken& source_of(const std::string& target, const Draft& draft, std::size_t tensor,
                         const AxisValues& values) const {
    std::string name = from_names_.name(from_names_.text(draft.rule, tensor), values);
    if (draft.state_pattern) name = from_names_.state_name(*draft.state_pattern, draft.state, name);
    const auto found = taken_.find(name);
    const bool is_there = found != taken_.end() && from_names_.entries()[found->second.match.entry].rule == draft.rule;
    if (!is_there)
      throw Error(Kind::input, "'" + target + "'",
                  {"of its source tensors '" + draft.by + "' is there, but not '" + name + "'",
                   "all that " + where(draft.rule) + " lists", "",
                   source_.are_all ? Advice{} : Advice{Advice::What::choose_others, ""}});
    return found->second;
  }

  static bool is_move(const MapRule& rule) { return rule.times.text().empty() && rule.plus.text().empty(); }

  /// Rules that recompute elements need the user's permission, and cannot take the state of an optimizer along: it
  /// would have to be scaled by other factors, and the rate of learning with it.
  void check_arithmetic() {
    std::map<std::size_t, std::vector<std::string>> names;  // by rule
    for (const auto& [name, draft] : drafts_) {
      const MapRule& rule = map_.rules[draft.rule];
      if (is_move(rule)) continue;
      if (draft.state_pattern)
        throw Error(Kind::input, "'" + draft.by + "'",
                    {"the state of an optimizer for a tensor that " + rule.place + " recomputes",
                     "a rule that moves elements",
                     "",
                     {Advice::What::leave_out, ""}})
            .of_parameter(draft.by);
      result_.recomputed.push_back(name);
      names[draft.rule].push_back(name);
    }
    if (names.empty() || wish_.allows_arithmetic) return;
    const auto& [first, made] = *names.begin();
    const MapRule& rule = map_.rules[first];
    const auto in_words = [](const char* word, const RealFormula& formula) {
      return formula.text().empty() ? "" : std::string(", \"") + word + "\": " + formula.text();
    };
    throw Error(Kind::usage, rule.place,
                {"it recomputes " + join(describe_groups(group_names(made))) + in_words("times", rule.times) +
                     in_words("plus", rule.plus) + ", and each result is rounded",
                 "moves of elements alone",
                 "",
                 {Advice::What::allow_arithmetic, ""}});
  }

  std::optional<Scaling> scaling_of(const MapRule& rule, const Taken& first) const {
    if (is_move(rule)) return std::nullopt;
    const auto value = [&](const RealFormula& formula, float otherwise) {
      if (formula.text().empty()) return otherwise;
      const auto found = static_cast<float>(formula.value([&](const std::string& name) { return sizes_.size(name); }));
      if (!std::isfinite(found) || (&formula == &rule.times && found <= 0))
        throw Error(Kind::layout, rule.place,
                    {"\"" + formula.text() + "\" is " + (std::isnan(found) ? "no number" : std::to_string(found)),
                     "a finite number, and above 0 for \"times\"", ""});
      return found;
    };
    if (!first.tensor->dtype.is_float())
      throw Error(
          Kind::input, "'" + first.tensor->name + "'",
          {"elements of " + first.tensor->dtype.name, "floating-point ones, which " + rule.place + " recomputes", ""})
          .of_parameter(first.tensor->name.str());
    return Scaling{value(rule.times, 1), value(rule.plus, 0), from_ == 1};
  }

  void build(const std::string& name, const Draft& draft) {
    const TensorTemplate& text = to_names_.text(draft.rule, draft.tensor);
    std::vector<Part> parts;
    for (const auto& pair : map_.rules[draft.rule].pieces)
      if (pair[to_].tensor == draft.tensor) parts.push_back(part(name, draft, pair));
    const Taken& first = *parts.front().sources.front();
    Tensor tensor{InternedText(name), first.tensor->dtype, {}, first.tensor->verbatim};
    if (is_single_state(draft, parts)) return build_state(std::move(tensor), parts);
    const TensorForm form(text, sizes_, parts.front().rest);
    Shape shape = form.shape();
    if (const auto dim = form.padded()) shape[*dim] = padded_size(name, draft, *dim, shape[*dim]);
    std::vector<TensorPiece> pieces;
    for (const Part& each : parts) pieces.push_back(piece(name, draft, each, form, first));
    const auto scaling = scaling_of(map_.rules[draft.rule], first);
    const bool is_same = !scaling && is_identity(pieces, shape, Shape(first.tensor->shape));
    if (!draft.state_pattern) build_scales(name, shape, parts, pieces, is_same);
    tensor.shape = InternedShape(shape);
    if (draft.state_pattern && map_.rules[draft.rule].pieces.size() > 1) result_.recut_states.push_back(name);
    insert(std::move(tensor),
           {first.number, is_same ? nullptr : std::make_shared<const TensorLinks>(std::move(pieces), scaling),
            first.tensor->name, draft.rule, draft.state_pattern.has_value()});
  }

  /// The sources of one piece.
  struct Part {
    std::array<PieceRef, 2> refs;
    std::vector<const Taken*> sources;
    std::vector<std::string> walked;  ///< axes that the sources' names carry, and the target's does not
    std::vector<std::uint64_t> rest;
  };

  Part part(const std::string& name, const Draft& draft, const std::array<PieceRef, 2>& refs) const {
    Part part{refs, {}, {}, {}};
    const TensorTemplate& text = from_names_.text(draft.rule, refs[from_].tensor);
    for (const std::string& axis : number_axes(text))
      if (!draft.values.numbers.contains(axis)) part.walked.push_back(axis);
    AxisValues values = draft.values;
    for_each_value(number_axes(text), sizes_, values, [&](const AxisValues& all) {
      part.sources.push_back(&source_of(name, draft, refs[from_].tensor, all));
    });
    if (const auto rest = rest_of(text, Shape(part.sources.front()->tensor->shape))) part.rest = *rest;
    return part;
  }

  /// A state without dimensions, such as a step counter, goes to each piece.
  bool is_single_state(const Draft& draft, const std::vector<Part>& parts) const {
    return draft.state_pattern && parts.front().sources.front()->tensor->shape.empty();
  }

  void build_state(Tensor tensor, const std::vector<Part>& parts) {
    const Taken& first = *parts.front().sources.front();
    for (const Part& part : parts)
      for (const Taken* const source : part.sources) {
        if (!source->tensor->shape.empty() || !(source->tensor->dtype == first.tensor->dtype))
          throw Error(
              Kind::input, "'" + source->tensor->name + "'",
              {"a state of another shape or dtype than '" + first.tensor->name + "'", "the same: they become one", ""});
        if (source->number != first.number) result_.equal.emplace_back(source->number, first.number);
      }
    result_.tensors.push_back(std::move(tensor));
    result_.origins.push_back({first.number, nullptr, first.tensor->name, 0, true});
  }

  /// Checks that a source tensor has the shape that its rule gives.
  TensorForm checked_form(const Draft& draft, const Part& part, const Taken& source, const Taken& first) const {
    const TensorTemplate& text = from_names_.text(draft.rule, part.refs[from_].tensor);
    const Shape shape(source.tensor->shape);
    const auto rest = rest_of(text, shape);
    const TensorForm form(text, sizes_, rest.value_or(std::vector<std::uint64_t>{}));
    const std::string object = "'" + source.tensor->name + "'";
    if (!rest || !form.fits(shape)) {
      const std::string fitting = draft.state_pattern || !rest ? "" : form.fitting_sizes(shape);
      const std::string remedy = draft.state_pattern ? ""
                                 : fitting.empty()   ? "do the sizes fit this checkpoint? --size says them"
                                                     : "give " + fitting + " if that is what this checkpoint has";
      throw Error(
          Kind::input, object,
          {to_string(shape) + (draft.state_pattern ? ", a factored moment, which cannot follow its tensor" : ""),
           to_string(form.shape()) + " by " + where(draft.rule) + " (" + form.sizes_in_words() + ")",
           remedy,
           {Advice::What::leave_out, ""}})
          .of_parameter(source.tensor->name.str());
    }
    if (*rest != part.rest || !(source.tensor->dtype == first.tensor->dtype))
      throw Error(Kind::input, object,
                  {source.tensor->dtype.name + " " + to_string(shape),
                   first.tensor->dtype.name + " as '" + first.tensor->name + "', and a shape that fits it",
                   "they become one tensor"})
          .of_parameter(source.tensor->name.str());
    return form;
  }

  TensorPiece piece(const std::string& name, const Draft& draft, const Part& part, const TensorForm& target,
                    const Taken& first) {
    TensorPiece piece;
    for (const Taken* const source : part.sources) {
      checked_form(draft, part, *source, first);
      if (source->tensor->verbatim)
        throw Error(Kind::input, "'" + name + "'", {"elements without a fixed size", "numbers", ""});
      piece.sources.push_back(source->number);
    }
    const TensorForm source_form = checked_form(draft, part, *part.sources.front(), first);
    if (const auto dim = source_form.padded(); dim && !draft.state_pattern)
      for (const Taken* const source : part.sources)
        if (const std::uint64_t size = source->tensor->shape[*dim], used = source_form.shape()[*dim]; used < size)
          result_.unpadded.push_back(source->tensor->name.str() + " from index " + std::to_string(used) + " on (" +
                                     std::to_string(size - used) + " of " + std::to_string(size) + ")");
    const PiecePlace in_source = source_form.place(part.refs[from_].piece);
    const PiecePlace in_target = target.place(part.refs[to_].piece);
    piece.source_base = in_source.base;
    piece.target_base = in_target.base;
    for (const AxisPlace& axis : in_source.axes)
      if (const auto value = draft.values.numbers.find(axis.axis); value != draft.values.numbers.end())
        piece.source_base[axis.dim] += value->second * axis.step;
    std::map<std::string, std::uint64_t> number_steps;
    std::uint64_t step = 1;
    for (auto axis = part.walked.rbegin(); axis != part.walked.rend(); ++axis) {
      number_steps[*axis] = step;
      step *= sizes_.size(*axis);
    }
    for (const AxisPlace& axis : in_target.axes) {
      PieceAxis placed{.size = axis.size, .target_dim = axis.dim, .target_step = axis.step};
      const auto same = std::find_if(in_source.axes.begin(), in_source.axes.end(),
                                     [&](const AxisPlace& other) { return other.axis == axis.axis; });
      if (same != in_source.axes.end()) {
        placed.source_dim = same->dim;
        placed.source_step = same->step;
      } else {
        placed.number_step = number_steps.at(axis.axis);
      }
      piece.axes.push_back(placed);
    }
    return piece;
  }

  /// Whether a tensor is its source, element by element.
  static bool is_identity(const std::vector<TensorPiece>& pieces, const Shape& target, const Shape& source) {
    if (pieces.size() != 1 || !(target == source) || pieces.front().sources.size() != 1) return false;
    const auto& axes = pieces.front().axes;
    return std::all_of(axes.begin(), axes.end(), [](const PieceAxis& axis) {
      return axis.size == 1 || (axis.source_dim == axis.target_dim && axis.source_step == axis.target_step);
    });
  }

  /// Makes the scales of a tensor of codes, of its sources' ones: each element of theirs is a block of codes.
  void build_scales(const std::string& name, const Shape& shape, const std::vector<Part>& parts,
                    std::vector<TensorPiece> pieces, bool is_same) {
    std::vector<const Scales*> of_all;
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (std::size_t i = 0; i < parts[p].sources.size(); ++i) {
        const auto found = scales_.find(parts[p].sources[i]->tensor->name);
        of_all.push_back(found == scales_.end() ? nullptr : &found->second);
        if (of_all.back() != nullptr) pieces[p].sources[i] = of_all.back()->number;
      }
    const auto some = std::ranges::find_if(of_all, [](const Scales* each) { return each != nullptr; });
    if (some == of_all.end()) return;
    const Scales& first = **some;
    const Tensor& of_first = *first.tensor;
    const auto refuse = [&](const std::string& found) {
      throw Error(Kind::input, "'" + name + "'",
                  {found, "whole blocks of codes with their scales", "--dequantize bf16 makes weights of them first"});
    };
    const std::string ending = ending_of_scales(first.of->codes, of_first.name);
    const bool is_named = !ending.starts_with(':') || name.ends_with("weight");
    for (const Scales* const each : of_all)
      if (each == nullptr || !(each->tensor->dtype == of_first.dtype) || each->of->is_spread != first.of->is_spread ||
          ending_of_scales(each->of->codes, each->tensor->name) != ending || !is_named)
        refuse("of its sources '" + first.of->codes + "' has the scales '" + of_first.name +
               "', and another has none or of another kind");
    Tensor made{
        InternedText(ending.starts_with(':') ? name.substr(0, name.size() - 6) + ending.substr(1) : name + ending),
        of_first.dtype, of_first.shape, false};
    if (!is_kept(name)) return;  // scales follow their codes
    const bool is_one = std::ranges::all_of(of_all, [&](const Scales* each) { return each == &first; });
    if (is_same || (is_one && numel(of_first.shape) == 1)) return insert(made, {first.number, nullptr, of_first.name});
    Shape block(shape.size(), 1);
    Shape made_shape = shape;
    for (std::size_t d = 0; d < std::min(shape.size(), first.of->block.size()); ++d) {
      const std::size_t from_last = first.of->block.size() - 1 - d;
      std::uint64_t& here = block[shape.size() - 1 - d];
      here = first.of->block[from_last];
      if (first.of->is_spread && here > 1) here = std::max<std::uint64_t>(shape[shape.size() - 1 - d], 1);
    }
    for (std::size_t d = 0; d < shape.size(); ++d) made_shape[d] = ceil_div(shape[d], block[d]);
    std::size_t at = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (std::size_t i = 0; i < parts[p].sources.size(); ++i, ++at)
        if (of_all[at]->tensor->shape.size() != of_all[at]->of->block.size() ||
            of_all[at]->of->block != of_all[at - i]->of->block)
          refuse("'" + of_all[at]->tensor->name.str() + "' has no element for each piece of it");
      const Scales& of_part = *of_all[at - 1];
      auto divided = in_blocks(std::move(pieces[p]), {Shape(parts[p].sources.front()->tensor->shape), shape},
                               {of_part.of->block, block});
      if (!divided) {
        refuse("its pieces begin or end within blocks of " + to_string(of_part.of->block) + " of '" +
               of_part.of->codes + "', which share a scale");
      }
      pieces[p] = std::move(*divided);
    }
    made.shape = InternedShape(made_shape);
    insert(made, {first.number, std::make_shared<const TensorLinks>(std::move(pieces)), of_first.name});
  }

  /// What follows the name of codes in that of their scales; with ":" before it, it replaces "weight".
  static std::string ending_of_scales(const std::string& codes, const std::string& scales) {
    return scales.starts_with(codes) ? scales.substr(codes.size()) : ":" + scales.substr(codes.size() - 6);
  }

  std::uint64_t padded_size(const std::string& name, const Draft& draft, std::size_t dim, std::uint64_t size) const {
    if (wish_.is_padded && wish_.is_padded(name, dim)) return size;
    if (wish_.shape)
      if (const auto shape = wish_.shape(name); shape && dim < shape->size() && (*shape)[dim] >= size)
        return (*shape)[dim];
    throw Error(Kind::input, "'" + name + "'",
                {"nothing says how far dimension " + std::to_string(dim) + " of " + std::to_string(size) +
                     " elements is padded (" + where(draft.rule) + ")",
                 "\"pad\" in the output's layout, or --expect REF",
                 "for none, write \"pad\": {\"" + std::to_string(dim) + "\": {\"size\": " + std::to_string(size) +
                     "}} in a rule of the output's layout"});
  }

  /// Adds a tensor in the order of names.
  void insert(Tensor tensor, MappedTensors::Origin origin) {
    const auto at = std::lower_bound(result_.tensors.begin(), result_.tensors.end(), tensor,
                                     [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
    result_.origins.insert(result_.origins.begin() + (at - result_.tensors.begin()), std::move(origin));
    result_.tensors.insert(at, std::move(tensor));
  }

  /// Names the tensors of rules that no source tensor is for, unless another rule makes them.
  void tell_passed_over() {
    std::set<std::string> made;
    for (std::size_t r = 0; r < map_.rules.size(); ++r)
      if (is_used_[r] || !holds(map_.rules[r].when, name_axes_[r], {}, sizes_).value_or(true))
        for (const TensorTemplate& text : map_.rules[r].tensors[to_]) made.insert(text.name());
    for (std::size_t r = 0; r < map_.rules.size(); ++r)
      for (const TensorTemplate& text : map_.rules[r].tensors[to_])
        if (made.insert(text.name()).second) result_.passed_over.push_back(text.name());
  }

  const NameMap& map_;
  const MapSizes& sizes_;
  MapSide from_;
  MapSide to_;
  const MapSource& source_;
  const MapWish& wish_;
  const KeepMade& is_kept_;
  std::set<std::string> wanted_;
  std::unordered_set<std::string> in_source_;  // with and without weights_folder
  std::set<std::string> states_;               // kinds of which some weight is there
  bool knows_states_ = false;                  // they are all that there are
  SideNames from_names_;
  SideNames to_names_;
  std::vector<bool> is_skipped_;  // by rule, as the next two
  std::vector<bool> is_used_;
  std::vector<std::set<std::string>> name_axes_;
  std::unordered_map<std::string, Taken> taken_;                                // by name
  std::set<std::pair<std::size_t, std::map<std::string, std::string>>> found_;  // entries with some tensor
  std::map<std::string, Draft> drafts_;
  std::vector<std::string> unknown_;
  std::vector<SecondName> tied_;
  std::size_t hops_ = 0;                  // to the name that is being taken
  std::map<std::string, Scales> scales_;  // by the name of their codes
  MappedTensors result_;
};

}  // namespace

std::vector<std::string> MapSource::names() const {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const auto& [tensor, number] : tensors) names.push_back(tensor.name);
  return names;
}

MappedTensors map_tensors(const NameMap& map, const MapSizes& sizes, MapSide from, const MapSource& source,
                          const MapWish& wish, const KeepMade& is_kept) {
  return Conversion(map, sizes, from, source, wish, is_kept).convert();
}

std::array<std::uint64_t, 2> names_taken(const NameMap& map, const std::vector<std::string>& names) {
  std::array<std::uint64_t, 2> taken{};
  std::array<std::vector<TensorTemplate>, 2> texts;
  std::array<PatternIndex, 2> indices;
  std::set<std::string> sizes;
  for (const auto& [name, formulas] : map.sizes) sizes.insert(name);
  for (const MapSide side : {0, 1}) {
    for (const MapRule& rule : map.rules)
      for (const TensorTemplate& text : rule.tensors[side]) {
        texts[side].push_back(text);
        for (const StackedNames& stack : map.stacks)
          if (stack.side == side)
            if (auto stacked = text.stacked(stack.axis, stack.prefix, stack.stacked, sizes))
              texts[side].push_back(std::move(*stacked));
      }
    for (const TiedName& tied : map.tied)
      if (tied.side == side) texts[side].push_back(tied.name);
    indices[side] =
        PatternIndex::of(texts[side], [](const TensorTemplate& text) -> const Pattern& { return text.pattern(); });
  }
  for (const std::string& name : names) {
    const std::array are_plain{indices[0].first(name).has_value(), indices[1].first(name).has_value()};
    const std::string bare =
        are_plain[0] || are_plain[1] ? name : without_folder(name);  // as it is, if any side has it
    for (const MapSide side : {0, 1}) {
      bool is_taken = are_plain[side] || (bare != name && indices[side].first(bare).has_value());
      for (const Pattern& pattern : map.states[side])
        if (const auto state = is_taken ? std::nullopt : state_of(pattern, name))
          is_taken = indices[side].first(state->weight).has_value();
      taken[side] += is_taken ? 1 : 0;
    }
  }
  return taken;
}

std::optional<MapSide> side_of_names(const NameMap& map, const std::vector<std::string>& names) {
  const std::array<std::uint64_t, 2> taken = names_taken(map, names);
  if (taken[0] == taken[1]) return std::nullopt;
  return taken[0] > taken[1] ? 0 : 1;
}

}  // namespace ckpt
