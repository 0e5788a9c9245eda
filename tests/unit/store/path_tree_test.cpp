#include "store/dcp/path_tree.hpp"

#include "catch.hpp"
#include "refused.hpp"
#include "store/torch/carried_tree.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;
using namespace ckpt::torch;
using Catch::Matchers::Contains;
using fixture::integer, fixture::refused, fixture::text, fixture::tuple;

namespace {

using Path = std::vector<std::string>;  // pickled keys

std::string tensor(const std::string& name) {
  return tuple({text("tensor"), text(name)}) + "Q";
}

/// Of paths and values, the tree that a directory gives.
std::string paths(const std::vector<std::pair<Path, std::string>>& values) {
  std::string dict = "}(";
  for (const auto& [path, value] : values) dict += tuple(path) + value;
  return fixture::pickle(tuple({text("paths"), dict + "u"}) + "Q");
}

/// A tree's values by their names, in its order.
void list(const Pickle& tree, PickleId id, const std::string& name, std::vector<std::string>& found) {
  if (const auto tensor = carried_name(tree, id)) return found.push_back(name + " is " + std::string(*tensor));
  const PickleNode& node = tree[id];
  if (node.kind == PickleKind::none) return found.push_back(name + " is None");
  if (!is_container(tree, id)) return found.push_back(name);
  for (const Branch& each : branches_of(tree, id)) list(tree, each.value, name + "/" + each.key, found);
}

std::vector<std::string> unfolded(const std::vector<std::pair<Path, std::string>>& values, const NameSet& tensors) {
  const std::string bytes = paths(values);
  std::size_t at = 0;
  Pickle tree = Pickle::read(bytes, at).value();
  unfold_paths(tree, tensors);
  std::vector<std::string> found;
  list(tree, tree.root(), "", found);
  return found;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("A directory's paths become dicts and lists, in which tensors stand by their paths") {
  const Names found = unfolded({{{text("model"), text("a.w")}, tensor("model.a.w")},
                                {{text("optim"), text("betas")}, tuple({integer(1), integer(2)})},
                                {{text("list"), integer(1), text("x")}, tensor("list.1.x")},
                                {{text("list"), integer(0)}, integer(3)},
                                {{text("step")}, integer(7)}},
                               {"model/a.w", "list/1/x"});
  CHECK(found == Names{"/model/a.w is model/a.w", "/optim/betas/0", "/optim/betas/1", "/list/0",
                       "/list/1/x is list/1/x", "/step"});
}

TEST_CASE("What is not taken of a directory leaves None in lists, and a tensor's own name stands in the root") {
  const Names found = unfolded({{{text("l"), integer(0)}, tensor("l.0")},
                                {{text("l"), integer(2)}, tensor("l.2")},
                                {{text("m"), text("w")}, tensor("m.w")},
                                {{text("m"), text("v")}, tensor("m.v")}},
                               {"l/2", "m.w"});
  CHECK(found == Names{"/l/0 is None", "/l/1 is None", "/l/2 is l/2", "/m.w is m.w"});
}

TEST_CASE("Tensors in an object of a directory get no names of their own") {
  const std::string bytes =
      tuple({text("bytes"), fixture::global("torch", "FloatStorage"), text("0"), integer(2), text("eight...")}) + "Q";
  const std::string pair = tuple({fixture::tensor(bytes, 0, {2}, {1}), integer(3)});
  CHECK(unfolded({{{text("pair")}, pair}, {{text("plain")}, tuple({integer(1), text("x")})}}, {}) ==
        Names{"/pair", "/plain/0", "/plain/1"});
}

TEST_CASE("Paths that contradict one another are refused") {
  const auto why = [](const std::vector<std::pair<Path, std::string>>& values) {
    return refused([&] { unfolded(values, {}); });
  };
  const std::string on_its_path = "stands on its path";
  CHECK_THAT(why({{{text("a")}, integer(1)}, {{text("a"), text("b")}, integer(2)}}),
             Contains("/a/b") && Contains(on_its_path));
  CHECK_THAT(why({{{text("a"), text("b")}, integer(2)}, {{text("a")}, integer(1)}}), Contains(on_its_path));
  CHECK_THAT(why({{{text("a"), text("b")}, integer(2)}, {{text("a"), integer(0)}, integer(1)}}), Contains(on_its_path));
  CHECK_THAT(why({{{text("a"), integer(0)}, integer(2)}, {{text("a"), integer(0)}, integer(1)}}),
             Contains(on_its_path));
  CHECK_THAT(why({{{text("a"), integer(1LL << 40)}, integer(2)}}),
             Contains("item 1099511627776 of a list, of which 0"));
  CHECK_THAT(why({{{text("a"), integer(-1)}, integer(2)}}), Contains("item -1 of a list"));
  CHECK(why({{{text("a"), integer(60000)}, integer(2)}}).empty());
  CHECK_THAT(why({{{text("a"), integer(60000)}, integer(2)}, {{text("b"), integer(60000)}, integer(2)}}),
             Contains("item 60000 of a list"));
}

TEST_CASE("Another tree stays as it is") {
  const std::string bytes = fixture::pickle(fixture::dict({{"a", integer(1)}}));
  std::size_t at = 0;
  Pickle tree = Pickle::read(bytes, at).value();
  const PickleId root = tree.root();
  unfold_paths(tree, {});
  CHECK(tree.root() == root);
}
