#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "layout/names/against_files.hpp"
#include "layout/names/borrowing.hpp"
#include "layout/names/rule_use.hpp"
#include "layout/names/source_names.hpp"
#include "layout/placement/bias_shapes.hpp"
#include "layout/placement/diagnose.hpp"
#include "layout/placement/placement_builder.hpp"
#include "layout/placement/resolve.hpp"
#include "layout/placement/shape_check.hpp"
#include "layout/placement/source_check.hpp"
#include "layout/placement/state_shapes.hpp"
#include "layout/tables/table_rows.hpp"

namespace ckpt {

namespace {

/// Keeps, in addition, the parameters that determine the shapes of buckets' members.
Keep with_lenders(const Keep& keep, const Borrowing& borrowing) {
  if (!keep) return keep;
  return
      [keep, lenders = borrowing.lenders()](const std::string& name) { return keep(name) || lenders.contains(name); };
}

/// Resolves one source: first the names (SourceNames), then a logical shape for each, then every card's arrays against
/// the result.
class SourceResolver {
 public:
  SourceResolver(const Layout& layout, const std::vector<CardArrays>& files, const Keep& keep,
                 const ExpectedShape& expected, const std::set<std::string>& hidden)
      : naming_(layout),
        borrowing_(layout, naming_),
        names_(layout, naming_, files, with_lenders(keep, borrowing_)),
        layout_(layout),
        builder_(layout),
        use_(layout),
        expected_(expected) {
    for (const std::string& name : hidden)
      if (const auto decision = naming_.decide(name)) use_.add(*decision);
  }

  Resolved resolve() {
    std::vector<std::string> left_out;
    add_all(decide(left_out));
    Resolved resolved{against_files([&] { return builder_.finish(); }), use_.unused(names_.all()), std::move(left_out)};
    const std::vector<std::string> stale = check_cards(layout_, names_, resolved.placement);
    const auto borrows_rule = [&](ParameterId parameter) { return shape_check_.borrows_rule(parameter); };
    for (const auto& more :
         {stale, names_.warnings(), shape_check_.check(resolved.placement, Kind::input),
          state_shape_warnings(resolved.placement, borrows_rule), bias_shape_warnings(resolved.placement)})
      resolved.warnings.insert(resolved.warnings.end(), more.begin(), more.end());
    return resolved;
  }

 private:
  using Logical = SourceNames::Logical;

  /// Returns the decision for each kept name; nothing for a bucket's member. All names without a rule are refused
  /// together.
  std::vector<std::optional<Decision>> decide(std::vector<std::string>& left_out) {
    std::vector<std::optional<Decision>> decisions(names_.logical().size());
    std::vector<std::string> unmatched;
    std::size_t n = 0;  // the kept names are a subset of all, in the same order
    const std::vector<std::string> all = names_.all();
    for (const std::string& name : all) {
      const bool is_kept = n < decisions.size() && names_.logical()[n].name == name;
      std::optional<Decision> decision;
      try {
        decision = naming_.decide(name);
      } catch (const Error&) {
        if (is_kept) throw;  // the rule of a dropped name may be wrong
      }
      if (decision && is_kept && names_.logical()[n].bucket)
        use_.add_member(*decision);
      else if (decision)
        use_.add(*decision);
      if (!is_kept) {
        left_out.push_back(name);
        continue;
      }
      if (!decision && !names_.logical()[n].bucket) unmatched.push_back(name);
      decisions[n++] = std::move(decision);
    }
    if (unmatched.empty()) {
      if (!layout_.parameters.empty() && layout_.buckets.empty()) use_.check_any(all, Kind::input);
      return decisions;
    }
    const auto refuse = [&] { refuse_unmatched(layout_, unmatched, Kind::input); };
    if (unmatched.size() > 1) refuse();
    for (n = 0; names_.logical()[n].name != unmatched.front();) ++n;
    with_context(place(n, names_.first_position(n)), refuse);
    return {};
  }

  void add_all(std::vector<std::optional<Decision>> decisions) {
    builder_.reserve(decisions.size());
    for (std::size_t n = 0; n < decisions.size(); ++n) {
      const std::string& name = names_.logical()[n].name;
      with_parameter(name, [&] {
        if (names_.logical()[n].bucket)
          add_member(n);
        else
          against_files([&] { add(n, std::move(*decisions[n])); });
        if (auto other = naming_.equal_of(name)) equate(name, std::move(*other));
      });
    }
  }

  void add_member(std::size_t n) {
    const Logical& logical = names_.logical()[n];
    const Membership membership{*logical.bucket, logical.member};
    const std::string where = describe_member(layout_, logical.name, layout_.buckets[membership.bucket]);
    const MemberKeys borrowed = borrowing_.of(membership);
    for (const std::size_t rule : borrowed.rules) use_.add(rule);
    against_files([&] {
      const Shape shape = borrowed.keys.shape ? Shape(*borrowed.keys.shape) : shape_of_lender(borrowed, where);
      builder_.add_member({logical.name, names_.first(n).dtype, shape, false}, membership, borrowed.keys,
                          logical.stored, where);
    });
    shape_check_.add_member();
  }

  void add(std::size_t n, Decision decision) {
    const Logical& logical = names_.logical()[n];
    const std::string where = describe(layout_, logical.name, decision.rule);
    const StoredArray& first = names_.first(n);
    const std::size_t rank = rank_of(first, decision.keys, where);
    if (rank == 0 && first.shape.empty()) drop_cuts(decision.keys);
    const CutPlan plan = builder_.plan(decision.keys, rank, where);
    StoredName place = naming_.uncounted(logical.name);
    const At at = builder_.at_of(decision.keys, logical.stored, place.at);
    Tensor tensor{logical.name, first.dtype, shape_of(n, decision.keys, plan, at, where), first.verbatim};
    builder_.add(std::move(tensor), decision, plan, {logical.stored, std::move(place.at)}, where);
    shape_check_.add(decision);
  }

  void equate(const std::string& name, std::string other) {
    if (!names_.contains(other))
      throw Error(Kind::input, "parameter '" + name + "' (" + layout_.origin + ")",
                  {"it \"equals\" '" + other + "', which no file holds", "both",
                   "nearest names: " + join(nearest(other, names_.all()))});
    builder_.equate(std::move(other));
  }

  /// Returns the logical shape of the parameter that a bucket's member borrows from.
  Shape shape_of_lender(const MemberKeys& borrowed, const std::string& where) {
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

  Shape shape_of(std::size_t n, const Keys& keys, const CutPlan& plan, const At& at, const std::string& where) const {
    if (keys.shape) return Shape(*keys.shape);
    const StoredArray& first = names_.first(n);
    if (first.global_shape && first.global_shape->size() == plan.dims.size() && (keys.grid || !keys.boxes) &&
        (keys.grid || keys.flat || fits_files(n, *first.global_shape, plan)))
      return *first.global_shape;
    if (keys.grid) return shape_of_grid(n, keys, plan);
    if (keys.boxes) return shape_of_boxes(*keys.boxes, plan);
    if (first.verbatim) return first.shape;
    Shape shape(plan.dims.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t dim = plan.permute[i];
      const CutSpec& spec = plan.dims[dim];
      shape[dim] = spec.declared_size() ? *spec.declared_size() : measure(n, dim, i, spec, at, where);
    }
    return shape;
  }

  static Shape shape_of_boxes(const Boxes& boxes, const CutPlan& plan) {
    Shape shape = BoxCover::reach(boxes);
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = plan.dims[d].declared_size().value_or(shape[d]);
    return shape;
  }

  /// Returns whether the pieces found are those of this shape. A shape in a file may come from an earlier job that had
  /// only this piece.
  bool fits_files(std::size_t n, const Shape& shape, const CutPlan& plan) const {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const CutSpec& spec = plan.dims[plan.permute[i]];
      if (spec.declared_size()) continue;
      std::vector<std::uint64_t> found(spec.pieces(), 0);
      std::vector<bool> is_found(spec.pieces(), false);
      for (Position position = 0; position < layout_.mesh.size(); ++position) {
        const StoredArray* array = names_.at(n, position);
        if (array == nullptr || i >= array->shape.size()) continue;
        const std::uint64_t piece = layout_.mesh.combination_at(spec.axes, position);
        is_found[piece] = true;
        found[piece] = array->shape[i];
      }
      if (!fits(shape[plan.permute[i]], spec, found, is_found)) return false;
    }
    return true;
  }

  /// Returns the logical shape of a tensor whose cards hold pieces counted by a grid. One deviating card must not
  /// change the result.
  Shape shape_of_grid(std::size_t n, const Keys& keys, const CutPlan& plan) const {
    const Mesh& mesh = layout_.mesh;
    Shape shape = BoxCover::reach(*keys.boxes);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t dim = plan.permute[i];
      if ((*keys.grid)[dim] == 0) continue;
      std::map<std::uint64_t, std::size_t> votes;
      for (Position position = 0; position < mesh.size(); ++position) {
        const StoredArray* array = names_.at(n, position);
        const auto box = keys.boxes->find(mesh.card(position));
        if (array == nullptr || i >= array->shape.size() || box == keys.boxes->end()) continue;
        const std::uint64_t pieces = box->second[dim].size();
        if (pieces > 0 && array->shape[i] % pieces == 0) ++votes[array->shape[i] / pieces];
      }
      const auto most = std::max_element(votes.begin(), votes.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      shape[dim] = votes.empty() ? 0 : checked_mul(most->first, (*keys.grid)[dim], "a dimension");
    }
    return shape;
  }

  /// Returns the logical size of a dimension from the extents of its pieces along stored dimension `stored_dim`.
  std::uint64_t measure(std::size_t n, std::size_t dim, std::size_t stored_dim, const CutSpec& spec, const At& at,
                        const std::string& where) const {
    std::vector<std::uint64_t> found(spec.pieces(), 0);
    std::vector<bool> is_found(spec.pieces(), false);
    std::map<std::uint64_t, std::size_t> votes;
    for (Position position = 0; position < layout_.mesh.size(); ++position) {
      const StoredArray* array = names_.at(n, position);
      if (array == nullptr || stored_dim >= array->shape.size()) continue;
      ++votes[array->shape[stored_dim]];
      const std::uint64_t piece = layout_.mesh.combination_at(spec.axes, position);
      if (is_found[piece]) continue;
      is_found[piece] = true;
      found[piece] = array->shape[stored_dim];
    }
    // One deviating card must not change the result: if all pieces should be equal, the most common extent counts.
    if (spec.uneven == Uneven::exact || spec.pieces() == 1) {
      const auto most = std::max_element(votes.begin(), votes.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      const bool is_whole = std::find(is_found.begin(), is_found.end(), false) == is_found.end();
      if (const std::string reason = is_whole && votes.size() > 1 ? explain_piece_sizes(found, spec) : "";
          !reason.empty())
        throw Error(Kind::input, where,
                    {"dimension " + std::to_string(dim) + " is stored as " + format_list(found),
                     "equal pieces, as \"uneven\": \"exact\" says", reason});
      if (most->first == 0 && !is_expected(n, dim, 0)) refuse_absent(n, dim, spec, found, is_found, at, where);
      return checked_mul(most->first, spec.pieces(), "a dimension");
    }
    std::uint64_t total = 0;
    for (const auto extent : found) total = checked_add(total, extent, "a dimension");
    if (!fits(total, spec, found, is_found))
      throw Error(Kind::input, where,
                  {"dimension " + std::to_string(dim) + " is stored as " + format_list(found),
                   "pieces of " + std::to_string(total) + " elements as the layout's \"uneven\" cuts them",
                   explain_piece_sizes(found, spec)});
    if (!is_expected(n, dim, total)) refuse_absent(n, dim, spec, found, is_found, at, where);
    return total;
  }

  /// Returns whether a dimension is expected to have the size that was found.
  bool is_expected(std::size_t n, std::size_t dim, std::uint64_t size) const {
    const auto shape = expected_ ? expected_(names_.logical()[n].name) : std::nullopt;
    return shape && dim < shape->size() && (*shape)[dim] == size;
  }

  /// Refuses an absent dataset whose shard would be empty only according to the others' shapes: it may as well be lost.
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
      return false;  // parts that do not divide, or a size that overflows
    }
  }

  std::string place(std::size_t n, Position position) const {
    return layout_.files.place(layout_.mesh, position, names_.logical()[n].stored);
  }

  Naming naming_;
  Borrowing borrowing_;
  SourceNames names_;
  std::unordered_map<std::string, Shape> shapes_;  // of parameters that buckets' members borrow from
  const Layout& layout_;
  PlacementBuilder builder_;
  ShapeCheck shape_check_;
  RuleUse use_;
  const ExpectedShape& expected_;
};

bool has_unreadable(const CardArrays& arrays_on_card) {
  return std::any_of(arrays_on_card->begin(), arrays_on_card->end(),
                     [](const StoredArray& array) { return array.refusal.has_value(); });
}

}  // namespace

std::set<std::string> unreadable_names(const Layout& layout, const std::vector<CardArrays>& files) {
  const std::set<CardArrays> distinct(files.begin(), files.end());  // cards with equal contents share a holding
  if (std::none_of(distinct.begin(), distinct.end(), has_unreadable)) return {};
  Naming naming(layout);
  return SourceNames(layout, naming, files, [](const std::string&) { return false; }).refused();
}

Resolved resolve_source(const Layout& layout, const std::vector<CardArrays>& files, const Keep& keep,
                        const ExpectedShape& expected, const std::set<std::string>& hidden) {
  if (layout.tables.empty()) return SourceResolver(layout, files, keep, expected, hidden).resolve();
  const std::vector<TableRows> tables = count_table_rows(layout, files);
  const Layout counted = with_table_rows(layout, tables);
  // A filter reads datasets that are otherwise left out.
  Keep keep_tables;
  if (keep) keep_tables = [&](const std::string& name) { return counted.table_arrays.contains(name) || keep(name); };
  Resolved resolved = SourceResolver(counted, files, keep_tables, expected, hidden).resolve();
  for (std::size_t entry = 0; entry < layout.tables.size(); ++entry)
    if (std::none_of(tables.begin(), tables.end(), [&](const auto& each) { return each.datasets.entry == entry; }))
      resolved.warnings.push_back(layout.origin + ": /tables/" + std::to_string(entry) + ": \"" +
                                  layout.tables[entry].name.text() + "\" matches no table");
  return resolved;
}

}  // namespace ckpt
