#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

#include "layout/names/borrowing.hpp"
#include "layout/names/card_names.hpp"
#include "layout/names/index_census.hpp"
#include "layout/names/rule_use.hpp"
#include "layout/placement/placement_builder.hpp"
#include "layout/placement/resolve.hpp"
#include "layout/placement/shape_check.hpp"

namespace ckpt {

namespace {

bool is_disjoint(const At& a, const At& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& entry) {
    const auto other = b.find(entry.first);
    return other != b.end() && both({entry}, {*other}).at(entry.first).empty();
  });
}

/// An array's name is a path: no component may be empty or a dot.
void check_path(const std::string& name, const std::string& origin) {
  const auto refuse = [&](const std::string& found) {
    return Error(Kind::layout, origin,
                 {"a parameter would be stored as \"" + name + "\"",
                  found,
                  "change \"rename\" in the layout",
                  {Advice::What::rename, ""}});
  };
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t slash = std::min(name.find('/', start), name.size());
    const std::string part = name.substr(start, slash - start);
    if (part.empty() || part == "." || part == "..") throw refuse("a path without empty parts and dots");
    start = slash + 1;
  }
}

/// No two arrays of one card may have the same name.
void check_names(const Placement& placement) {
  const auto& arrays = placement.arrays();
  const CardFiles& files = placement.layout().files;
  for (const ArrayPlace& array : arrays) {
    const auto entry = files.entry_of(array.name);
    if (!entry)
      throw Error(Kind::layout, placement.layout().origin,
                  {"a parameter would be stored as \"" + array.name + "\"",
                   "a name that begins with the prefix of one of the entries of \"files\"",
                   "add an entry without \"prefix\", or see rename"});
    check_path(files.name_within(array.name), placement.layout().origin);
  }
  std::vector<ArrayId> order(arrays.size());
  std::iota(order.begin(), order.end(), ArrayId{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return arrays[a].name < arrays[b].name; });
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size() && arrays[order[j]].name == arrays[order[i]].name; ++j)
      if (!is_disjoint(arrays[order[i]].at, arrays[order[j]].at))
        throw Error(Kind::layout, placement.layout().origin,
                    {"'" + placement.tensors()[arrays[order[i]].members.front()].name + "' and '" +
                         placement.tensors()[arrays[order[j]].members.front()].name + "' would both be stored as \"" +
                         arrays[order[i]].name + "\" on one card",
                     "one name for each parameter of a card", "see rename, indices and buckets"});
}

/// Returns the rules that contributed.
std::vector<std::size_t> add_member(PlacementBuilder& builder, const Naming& naming, const Borrowing& borrowing,
                                    const Tensor& tensor, Membership where) {
  const Bucket& bucket = builder.layout().buckets[where.bucket];
  const std::string place = describe_member(builder.layout(), tensor.name, bucket);
  const MemberKeys borrowed = borrowing.of(where);
  const Keys& keys = borrowed.keys;
  if (keys.shape && !(tensor.shape == Shape(*keys.shape)))
    throw Error(Kind::layout, place,
                {"its shape is " + to_string(tensor.shape), format_list(*keys.shape) + ", as the bucket says", ""});
  builder.add_member(tensor, where, keys, naming.unrenamed(bucket.name), place);
  return borrowed.rules;
}

void check_members(const Layout& layout, const std::vector<const Tensor*>& tensors) {
  std::set<std::string_view> names;
  for (const Tensor* tensor : tensors) names.insert(tensor->name);
  for (const Bucket& bucket : layout.buckets)
    for (const BucketMember& member : bucket.members)
      if (!names.contains(member.name))
        throw Error(
            Kind::layout, layout.origin,
            {"bucket \"" + bucket.name + "\" has the member \"" + member.name + "\", which the checkpoint lacks", "",
             "take it out of the bucket"});
}

/// Adapts the layout to the checkpoint that carries it: adds the shapes that members borrow, whose lenders may be
/// missing there, and keeps of `equals` only what holds.
Layout carried(Layout layout, const Naming& naming, const std::vector<const Tensor*>& tensors) {
  std::unordered_map<std::string_view, const Tensor*> by_name;
  for (const Tensor* tensor : tensors) by_name.emplace(tensor->name, tensor);
  for (Bucket& bucket : layout.buckets)
    for (BucketMember& member : bucket.members)
      if (const Shape& shape = by_name.at(member.name)->shape; !member.keys.shape)
        member.keys.shape.emplace(shape.begin(), shape.end());
  for (const Tensor* tensor : tensors)
    if (const auto other = naming.equal_of(tensor->name); other && !by_name.contains(*other))
      layout.parameters[*naming.rule_of(tensor->name)].equals.reset();
  return layout;
}

/// Sets in `naming` how far `indices` count; returns warnings. A target with gaps could not be read by its own layout.
std::vector<std::string> count_indices(const Layout& layout, const std::vector<Tensor>& tensors, Naming& naming) {
  IndexCensus census(layout);
  for (const Tensor& tensor : tensors) census.note_logical(tensor.name);
  const auto totals = census.totals();
  naming.count_to(totals);
  census.check_no_gaps(totals, Kind::layout);
  return census.unused();
}

/// Adds a tensor that a rule, or the default, applies to.
void add_ruled(PlacementBuilder& builder, const Naming& naming, const Tensor& tensor, Decision& decision,
               const std::string& where) {
  const Keys& keys = decision.keys;
  if (keys.shape && !(Shape(*keys.shape) == tensor.shape))
    throw Error(Kind::layout, where,
                {"its shape is " + to_string(tensor.shape), format_list(*keys.shape) + ", as the rule says", ""});
  if (tensor.shape.empty()) drop_cuts(decision.keys);
  StoredName stored = naming.uncounted(tensor.name);
  stored.name = naming.unrenamed(stored.name);
  builder.add(tensor, decision, builder.plan(keys, tensor.shape.size(), where), std::move(stored), where);
}

/// A file is written with names that are the same on all cards.
void check_plain_names(const Layout& layout) {
  const std::string name = first_card_name(layout);
  if (!name.empty())
    throw Error(
        Kind::layout, layout.origin,
        {"\"" + name + "\" has the number of a card in it", "names that are the same on all cards in a layout to write",
         "such names are only read: leave that \"rename\" or \"prefix\" out"});
}

}  // namespace

Resolved resolve_target(const Layout& layout, const std::vector<Tensor>& tensors, bool are_all) {
  check_plain_names(layout);
  std::vector<const Tensor*> order;
  order.reserve(tensors.size());
  for (const Tensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) { return a->name < b->name; });
  check_members(layout, order);
  Naming naming(layout);
  const std::vector<std::string> index_warnings = count_indices(layout, tensors, naming);
  const Borrowing borrowing(layout, naming);
  PlacementBuilder builder(carried(layout, naming, order));
  builder.reserve(order.size());
  ShapeCheck shape_check;
  RuleUse use(layout);
  std::vector<std::string> names;
  std::vector<std::string> unmatched;
  const auto add = [&](const Tensor& tensor) {
    if (const auto rule = naming.rule_of(tensor.name)) use.add(*rule);
    if (const auto member = borrowing.find(tensor.name)) {
      for (const std::size_t rule : add_member(builder, naming, borrowing, tensor, *member)) use.add(rule);
      shape_check.add_member();
    } else if (auto decision = naming.decide(tensor.name)) {
      use.add(*decision);
      const std::string where = describe(layout, tensor.name, decision->rule);
      shape_check.add(*decision);
      add_ruled(builder, naming, tensor, *decision, where);
    } else {
      return unmatched.push_back(tensor.name);
    }
    if (auto other = naming.equal_of(tensor.name)) builder.equate(std::move(*other));
  };
  for (const Tensor* tensor : order) {
    names.push_back(tensor->name);
    with_parameter(tensor->name, [&] { add(*tensor); });
  }
  if (!unmatched.empty()) refuse_unmatched(layout, unmatched, Kind::layout);
  if (are_all && layout.buckets.empty()) use.check_any(names, Kind::layout);
  Resolved resolved{builder.finish(), use.unused(names), {}};
  for (const auto& more : {index_warnings, shape_check.check(resolved.placement, Kind::layout)})
    resolved.warnings.insert(resolved.warnings.end(), more.begin(), more.end());
  check_names(resolved.placement);
  return resolved;
}

}  // namespace ckpt
