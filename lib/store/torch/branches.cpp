#include "store/torch/branches.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ckpt::torch {

namespace {

constexpr std::size_t text_bytes_of_visit = 64;
constexpr std::size_t longest_expanded_list = 64;

std::string key_text(const Pickle& pickle, PickleId id, int level) {
  const PickleNode& node = pickle[id];
  switch (node.kind) {
    case PickleKind::text:
    case PickleKind::global:
      return std::string(node.text);
    case PickleKind::integer:
      return std::to_string(node.number);
    case PickleKind::boolean:
      return node.number != 0 ? "True" : "False";
    case PickleKind::none:
      return "None";
    case PickleKind::tuple: {
      if (level > most_levels) break;
      std::string text = "(";
      for (const PickleId item : node.items) text += (text.size() > 1 ? ", " : "") + key_text(pickle, item, level + 1);
      return text + ")";
    }
    default:
      break;
  }
  throw Error(Kind::input, "",
              {"found a dict whose keys are neither texts nor whole numbers", "names for what it holds", ""});
}

void check_visits(std::uint64_t visits) {
  if (visits > most_visits)
    throw Error(Kind::input, "", {"found more than 10,000,000 values", "fewer", "does a list hold itself?"});
}

/// Returns the pairs of a dict as protocol 1 and Python 2 wrote them: OrderedDict([[key, value], ...]).
const PickleNode* pairs_of(const Pickle& pickle, PickleId id) {
  if (!pickle.is_call_of(id, ordered_dict)) return nullptr;
  const PickleNode& arguments = pickle[pickle[id].arguments];
  if (arguments.kind != PickleKind::tuple || arguments.items.size() != 1) return nullptr;
  const PickleNode& pairs = pickle[arguments.items.front()];
  const bool are_pairs = std::all_of(pairs.items.begin(), pairs.items.end(),
                                     [&](PickleId pair) { return pickle[pair].items.size() == 2; });
  return pairs.kind == PickleKind::list && are_pairs ? &pairs : nullptr;
}

}  // namespace

bool is_container(const Pickle& pickle, PickleId id) {
  const PickleNode& node = pickle[id];
  return node.kind == PickleKind::dict || node.kind == PickleKind::list || node.kind == PickleKind::tuple ||
         (node.kind == PickleKind::call && (!node.items.empty() || pickle.name_of(id) == ordered_dict));
}

bool is_long_list(const Pickle& pickle, PickleId id) {
  const PickleNode& node = pickle[id];
  return !node.has_pairs && node.items.size() > longest_expanded_list &&
         std::all_of(node.items.begin(), node.items.end(),
                     [&](PickleId item) { return pickle[item].kind < PickleKind::global; });
}

std::vector<Branch> branches_of(const Pickle& pickle, PickleId id) {
  std::vector<Branch> branches;
  const PickleNode& node = pickle[id];
  if (const PickleNode* const pairs = pairs_of(pickle, id))
    for (const PickleId pair : pairs->items)
      branches.push_back({key_text(pickle, pickle[pair].items[0], 0), pickle[pair].items[0], pickle[pair].items[1]});
  if (node.kind == PickleKind::dict || node.has_pairs)
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2)
      branches.push_back({key_text(pickle, node.items[i], 0), node.items[i], node.items[i + 1]});
  else
    for (const PickleId item : node.items) branches.push_back({std::to_string(branches.size()), no_node, item});
  return branches;
}

std::string name_below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "/" + key;
}

void TreeBounds::check_level(int level) const {
  if (level > most_levels)
    throw Error(Kind::input, "", {"found more than 100 dicts in one another", "fewer", "does one hold itself?"});
}

void TreeBounds::visit(const PickleNode& node, const std::string& name) {
  visits_ += 1 + node.items.size() + (node.text.size() + name.size()) / text_bytes_of_visit;
  check_visits(visits_);
}

void TreeBounds::check_values(const Pickle& pickle) {
  struct Open {
    PickleId id;
    std::size_t items_done;
  };
  std::vector<std::uint64_t> visits(pickle.nodes().size(), 0);  // below each node; 0: not visited yet
  std::vector<Open> open;
  const auto enter = [&](PickleId id) {
    visits[id] = 1;  // counts 1 even for an item that contains its container: the limit on levels finds that
    if (!is_container(pickle, id) || is_long_list(pickle, id)) return;
    visits[id] += pickle[id].items.size();
    open.push_back({id, 0});
  };
  if (pickle.root() != no_node) enter(pickle.root());
  while (!open.empty()) {
    const PickleId id = open.back().id;
    const std::vector<PickleId>& items = pickle[id].items;
    if (open.back().items_done == items.size()) {
      open.pop_back();
      continue;
    }
    const PickleId item = items[open.back().items_done];
    if (visits[item] == 0) {
      enter(item);
      continue;
    }
    ++open.back().items_done;
    visits[id] += visits[item];
    check_visits(visits[id]);
  }
}

}  // namespace ckpt::torch
