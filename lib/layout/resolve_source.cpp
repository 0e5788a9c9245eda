#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "layout/borrowing.hpp"
#include "layout/diagnose.hpp"
#include "layout/likeness.hpp"
#include "layout/placement_builder.hpp"
#include "layout/resolve.hpp"
#include "layout/rule_use.hpp"
#include "layout/source_names.hpp"

namespace ckpt {

namespace {

/// What is kept, and what is needed to know the shapes of buckets' members.
Keep with_lenders(const Keep& keep, const Borrowing& borrowing) {
  if (!keep) return keep;
  return
      [keep, lenders = borrowing.lenders()](const std::string& name) { return keep(name) || lenders.contains(name); };
}

/// Resolves one source: names first (SourceNames), then a logical shape for each, then every card's arrays against the
/// result.
class SourceResolver {
 public:
  SourceResolver(const Layout& layout, const std::vector<Holding>& files, const Keep& keep)
      : naming_(layout),
        borrowing_(layout, naming_),
        names_(layout, naming_, files, with_lenders(keep, borrowing_)),
        layout_(layout),
        builder_(layout),
        use_(layout) {}

  Resolved resolve() {
    std::vector<std::string> left_out;
    auto decisions = decide(left_out);
    for (std::size_t n = 0; n < decisions.size(); ++n) {
      add(n, std::move(decisions[n]));
      const std::string& name = names_.logical()[n].name;
      if (auto other = naming_.equal_of(name)) equate(name, std::move(*other));
    }
    Resolved resolved{builder_.finish(), use_.unused(names_.all()), std::move(left_out)};
    for (Position position = 0; position < layout_.mesh.size(); ++position) check_card(resolved.placement, position);
    for (const auto& more : {names_.warnings(), likeness_.check(resolved.placement, Kind::input)})
      resolved.warnings.insert(resolved.warnings.end(), more.begin(), more.end());
    return resolved;
  }

 private:
  using Logical = SourceNames::Logical;

  /// The file that says first how a parameter is stored.
  std::string first_file(std::size_t n) const {
    const auto entry = layout_.files.entry_of(names_.logical()[n].stored).value_or(0);
    return layout_.files.path(layout_.mesh, names_.first_position(n), entry);
  }

  /// What is decided for each kept name; nothing for a bucket's member. All that no rule matches are refused at once.
  std::vector<std::optional<Decision>> decide(std::vector<std::string>& left_out) {
    std::vector<std::optional<Decision>> decisions(names_.logical().size());
    std::vector<std::string> unmatched;
    std::size_t n = 0;  // the kept names are among all, and both are in order
    for (const std::string& name : names_.all()) {
      const bool is_kept = n < decisions.size() && names_.logical()[n].name == name;
      std::optional<Decision> decision;
      try {
        decision = naming_.decide(name);
      } catch (const Error&) {
        if (is_kept) throw;  // a dropped name need not have a sound rule
      }
      if (decision) use_.add(*decision);
      if (!is_kept) {
        left_out.push_back(name);
        continue;
      }
      if (!decision && !names_.logical()[n].bucket) unmatched.push_back(name);
      decisions[n++] = std::move(decision);
    }
    if (unmatched.empty()) return decisions;
    const auto refuse = [&] { refuse_unmatched(layout_, unmatched, Kind::input); };
    if (unmatched.size() > 1) refuse();
    for (n = 0; names_.logical()[n].name != unmatched.front();) ++n;
    with_context(place(n, names_.first_position(n)), refuse);
    return {};
  }

  void add(std::size_t n, std::optional<Decision> decision) {
    const Logical& logical = names_.logical()[n];
    if (logical.bucket) {
      const Membership membership{*logical.bucket, logical.member};
      const std::string where = describe_member(layout_, logical.name, layout_.buckets[membership.bucket]);
      const MemberKeys borrowed = borrowing_.of(membership);
      for (const std::size_t rule : borrowed.rules) use_.add(rule);
      const Extents shape = borrowed.keys.shape ? Extents(*borrowed.keys.shape) : shape_of_lender(borrowed, where);
      builder_.add_member({logical.name, names_.first(n).dtype, shape, false}, membership, borrowed.keys,
                          logical.stored, where);
      likeness_.add_member();
      return;
    }
    const std::string where = describe(layout_, logical.name, *decision);
    const StoredArray& first = names_.first(n);
    const std::size_t rank = rank_of(first, decision->keys, where);
    if (rank == 0 && first.shape.empty()) drop_cuts(decision->keys);
    const CutPlan plan = builder_.plan(decision->keys, rank, where);
    StoredName place = naming_.uncounted(logical.name);
    const At at = builder_.at_of(decision->keys, logical.stored, place.at);
    Tensor tensor{logical.name, first.dtype, shape_of(n, decision->keys, plan, at, where), first.verbatim};
    try {
      builder_.add(std::move(tensor), *decision, plan, {logical.stored, std::move(place.at)}, where);
    } catch (const Error& error) {
      throw Error(Kind::input, error.what());
    }
    likeness_.add(*decision, where);
  }

  void equate(const std::string& name, std::string other) {
    if (!std::binary_search(names_.all().begin(), names_.all().end(), other))
      throw Error(Kind::input, "parameter '" + name + "' (" + layout_.origin + ")",
                  {"it \"equals\" '" + other + "', which no file holds", "both",
                   "nearest names: " + join(nearest(other, names_.all()))});
    builder_.equate(std::move(other));
  }

  /// The logical shape of the parameter that a bucket's member is like.
  Extents shape_of_lender(const MemberKeys& borrowed, const std::string& where) {
    const std::string& name = *borrowed.shape_of;
    const auto known = shapes_.find(name);
    if (known != shapes_.end()) return known->second;
    const auto n = names_.find(name);
    if (!n)
      throw Error(Kind::input, where,
                  {"it is to be like '" + name + "', which no file holds", "a parameter that tells its shape",
                   R"(say the shape: "shape" in the rule for that name, or "shapes" in the bucket)"});
    const std::size_t rank = rank_of(names_.first(*n), borrowed.shape_keys, where);
    const CutPlan plan = builder_.plan(borrowed.shape_keys, rank, where);
    const At at = builder_.at_of(borrowed.shape_keys, names_.logical()[*n].stored, naming_.uncounted(name).at);
    return shapes_.emplace(name, shape_of(*n, borrowed.shape_keys, plan, at, where)).first->second;
  }

  static std::size_t rank_of(const StoredArray& first, const Keys& keys, const std::string& where) {
    if (keys.shape) return keys.shape->size();
    if (keys.boxes) return keys.boxes->begin()->second.rank();
    if (!keys.flat || first.shape.empty()) return first.shape.size();
    if (first.global_shape) return first.global_shape->size();
    throw Error(Kind::layout, where,
                {"a flat piece of " + to_string(first.shape) + " elements does not tell the logical shape",
                 "\"shape\" in the rule", ""});
  }

  Extents shape_of(std::size_t n, const Keys& keys, const CutPlan& plan, const At& at, const std::string& where) const {
    if (keys.shape) return Extents(*keys.shape);
    if (keys.boxes) return BoxCover::reach(*keys.boxes);
    const StoredArray& first = names_.first(n);
    if (first.global_shape && first.global_shape->size() == plan.dims.size()) return *first.global_shape;
    if (first.verbatim) return first.shape;
    Extents shape(plan.dims.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t dim = plan.permute[i];
      const CutSpec& spec = plan.dims[dim];
      shape[dim] = spec.declared_size() ? *spec.declared_size() : measure(n, dim, i, spec, at, where);
    }
    return shape;
  }

  /// The logical size of a dimension from what its pieces were found to store along stored dimension `stored_dim`.
  std::uint64_t measure(std::size_t n, std::size_t dim, std::size_t stored_dim, const CutSpec& spec, const At& at,
                        const std::string& where) const {
    std::vector<std::uint64_t> found(spec.pieces(), 0);
    std::vector<bool> is_found(spec.pieces(), false);
    std::map<std::uint64_t, std::size_t> votes;
    for (Position position = 0; position < layout_.mesh.size(); ++position) {
      const StoredArray* array = names_.at(n, position);
      if (array == nullptr || stored_dim >= array->shape.size()) continue;
      ++votes[array->shape[stored_dim]];
      std::uint64_t piece = 0;
      for (const Axis axis : spec.axes)
        piece = piece * layout_.mesh.shape[axis] + layout_.mesh.coordinate(position, axis);
      if (is_found[piece]) continue;
      is_found[piece] = true;
      found[piece] = array->shape[stored_dim];
    }
    // One odd card must not move the whole: where all pieces are to be equal, the commonest extent counts.
    if (spec.uneven == Uneven::exact || spec.pieces() == 1) {
      const auto most = std::max_element(votes.begin(), votes.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      const bool is_whole = std::find(is_found.begin(), is_found.end(), false) == is_found.end();
      if (const std::string reason = is_whole && votes.size() > 1 ? explain_extents(found, spec) : ""; !reason.empty())
        throw Error(Kind::input, where,
                    {"dimension " + std::to_string(dim) + " is stored as " + format_list(found),
                     "\"uneven\": \"exact\" expects equal pieces", reason});
      if (most->first == 0) refuse_absent(n, dim, spec, found, is_found, at, where);
      return checked_mul(most->first, spec.pieces(), "a dimension");
    }
    std::uint64_t total = 0;
    for (const auto extent : found) total = checked_add(total, extent, "a dimension");
    if (!fits(total, spec, found, is_found))
      throw Error(Kind::input, where,
                  {"dimension " + std::to_string(dim) + " is stored as " + format_list(found),
                   std::to_string(total) + " elements do not cut so under the layout's \"uneven\"",
                   explain_extents(found, spec)});
    refuse_absent(n, dim, spec, found, is_found, at, where);
    return total;
  }

  /// Where a dataset is absent and only the shapes of the others could tell that its shard is empty, it may as well be
  /// lost.
  void refuse_absent(std::size_t n, std::size_t dim, const CutSpec& spec, const std::vector<std::uint64_t>& found,
                     const std::vector<bool>& is_found, const At& at, const std::string& where) const {
    if (std::find(is_found.begin(), is_found.end(), false) == is_found.end()) return;
    for (Position position = 0; position < layout_.mesh.size(); ++position) {
      const auto coordinates = layout_.mesh.coordinates(position);
      const bool is_held = std::all_of(at.begin(), at.end(), [&](const auto& entry) {
        return std::binary_search(entry.second.begin(), entry.second.end(), coordinates[entry.first]);
      });
      if (!is_held || is_found[layout_.mesh.combination(spec.axes, coordinates)]) continue;
      throw Error(
          Kind::input, place(n, position),
          {where + ": the dataset is absent: its shard may be empty, or lost",
           "a dataset with a dimension of 0 for an empty shard, since the others' shapes cannot tell (dimension " +
               std::to_string(dim) + " is stored as " + format_list(found) + ")",
           "give \"shape\" in the rule to say how large the parameter is"});
    }
  }

  static bool fits(std::uint64_t size, const CutSpec& spec, const std::vector<std::uint64_t>& found,
                   const std::vector<bool>& is_found) {
    try {
      const DimCut cut(size, spec);
      for (std::uint64_t p = 0; p < spec.pieces(); ++p)
        if (is_found[p] && cut.extent(p) != found[p]) return false;
      return true;
    } catch (const Error&) {
      return false;  // parts that do not divide, a size that overflows
    }
  }

  void check_card(const Placement& placement, Position position) const {
    for (std::size_t n = 0; n < names_.logical().size(); ++n) {
      const auto parameter = static_cast<ParameterId>(n);  // both are in the order of names
      const ArrayId array = placement.array_of(parameter);
      const StoredArray* found = names_.at(n, position);
      if (!placement.holds(position, array)) {
        if (found != nullptr) refuse_elsewhere(placement, parameter, position);
        continue;
      }
      const Extents expected = placement.stored_shape(array, position);
      if (found == nullptr) {
        if (volume(expected) != 0 || placement.tensors()[parameter].verbatim)
          refuse_missing(placement, parameter, position, expected);
        continue;
      }
      if (!(found->shape == expected)) refuse_shape(placement, parameter, position, *found, expected);
      if (!(found->dtype == placement.tensors()[parameter].dtype) ||
          found->verbatim != placement.tensors()[parameter].verbatim)
        refuse_dtype(parameter, position, *found);
      const bool is_own = !placement.spreads()[parameter].bucket;
      if (is_own && found->global_shape && !(*found->global_shape == placement.tensors()[parameter].shape))
        throw Error(Kind::input, place(parameter, position),
                    {"attribute ckpt_global_shape is " + to_string(*found->global_shape),
                     layout_.origin + " gives the logical shape " + to_string(placement.tensors()[parameter].shape),
                     "is it the right layout?"});
    }
  }

  std::string place(std::size_t n, Position position) const {
    return layout_.files.place(layout_.mesh, position, names_.logical()[n].stored);
  }

  std::string cards_of(const BoxCover& boxes) const {
    std::vector<Position> positions;
    for (std::size_t number = 0; number < boxes.size(); ++number)
      positions.insert(positions.end(), boxes.holders(number).begin(), boxes.holders(number).end());
    std::sort(positions.begin(), positions.end());
    return list_cards(layout_.mesh, positions);
  }

  std::string held_by(const Placement& placement, ParameterId parameter) const {
    if (const auto& boxes = placement.spreads()[parameter].boxes) return "the cards " + cards_of(*boxes);
    std::vector<std::string> parts;
    for (const auto& [axis, coordinates] : placement.arrays()[placement.array_of(parameter)].at)
      parts.push_back(layout_.mesh.axes[axis] + "=" +
                      (coordinates.size() == 1 ? std::to_string(coordinates[0]) : format_list(coordinates)));
    return parts.empty() ? "every card" : "the cards at " + join(parts);
  }

  [[noreturn]] void refuse_elsewhere(const Placement& placement, ParameterId parameter, Position position) const {
    throw Error(Kind::input, place(parameter, position),
                {"card " + std::to_string(layout_.mesh.card(position)) + " holds parameter '" +
                     placement.tensors()[parameter].name + "'",
                 layout_.origin + " puts it on " + held_by(placement, parameter) + " only", "is it the right layout?"});
  }

  [[noreturn]] void refuse_missing(const Placement& placement, ParameterId parameter, Position position,
                                   const Extents& expected) const {
    std::vector<Position> holders;
    for (Position p = 0; p < layout_.mesh.size(); ++p)
      if (names_.at(parameter, p) != nullptr) holders.push_back(p);
    throw Error(Kind::input, place(parameter, position),
                {"parameter '" + placement.tensors()[parameter].name + "' is missing",
                 layout_.origin + " expects " + to_string(expected) + " of it on " + held_by(placement, parameter),
                 "cards that hold it: " + list_cards(layout_.mesh, holders)});
  }

  [[noreturn]] void refuse_dtype(std::size_t n, Position position, const StoredArray& found) const {
    throw Error(Kind::input, place(n, position),
                {"its dtype is " + found.dtype.name, first_file(n) + " has " + names_.first(n).dtype.name,
                 "a parameter has one dtype on all its cards"});
  }

  [[noreturn]] void refuse_shape(const Placement& placement, ParameterId parameter, Position position,
                                 const StoredArray& found, const Extents& expected) const {
    const Tensor& tensor = placement.tensors()[parameter];
    const Spread& spread = placement.spreads()[parameter];
    if (spread.bucket)
      throw Error(Kind::input, place(parameter, position),
                  explain_piece(placement, placement.array_of(parameter), position,
                                [&](Position card) { return names_.at(parameter, card); }));
    std::string cuts;
    std::vector<CutSpec> specs(spread.axes.size());
    std::vector<std::string> axis_names = layout_.mesh.axes;
    for (std::size_t d = 0; d < spread.axes.size(); ++d)
      for (std::size_t i = 0; i < spread.axes[d].size(); ++i) {
        const Axis axis = spread.axes[d][i];
        specs[d].axes.push_back(axis);
        specs[d].counts.push_back(layout_.mesh.shape[axis]);
        cuts += (i == 0 ? ", dim " + std::to_string(d) + " over " : " and ") + layout_.mesh.axes[axis] + "=" +
                std::to_string(layout_.mesh.shape[axis]);
      }
    const bool is_plain = !spread.flat;
    throw Error(
        Kind::input, place(parameter, position),
        {"stored shape " + to_string(found.shape),
         layout_.origin + " expects " + to_string(expected) + " (logical " + to_string(tensor.shape) + cuts + ")",
         is_plain ? explain_shape(found.shape, expected, tensor.shape, specs, axis_names) : ""});
  }

  Naming naming_;
  Borrowing borrowing_;
  SourceNames names_;
  std::unordered_map<std::string, Extents> shapes_;  // of parameters that buckets' members are like
  const Layout& layout_;
  PlacementBuilder builder_;
  Likeness likeness_;
  RuleUse use_;
};

}  // namespace

Resolved resolve_source(const Layout& layout, const std::vector<Holding>& files, const Keep& keep) {
  return SourceResolver(layout, files, keep).resolve();
}

}  // namespace ckpt
