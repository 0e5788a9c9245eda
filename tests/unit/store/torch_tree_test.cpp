#include "catch.hpp"
#include "spec_of.hpp"
#include "store/torch/torch_store.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;

namespace {

using namespace std::string_literals;
using namespace fixture;
using Catch::Matchers::Contains;

const std::string eight = "aaaabbbb";

std::string two(const std::string& key) {
  return tensor(storage(key, 2), 0, {2}, {1});
}

FileSpec::Array array_of(const std::string& name) {
  FileSpec::Array array;
  array.name = name;
  array.dtype = *number_type("f32");
  array.shape = {2};
  return array;
}

/// A file written with the tree of another, read again.
class Rewritten {
 public:
  Rewritten(const std::string& source, FileSpec spec) {
    fixture::put_bytes(folder_ / "source.pt", source);
    const auto store = torch_store();
    tree_ = store->tree(folder_ / "source.pt");
    spec.tree = std::make_shared<const std::string>(tree_);
    store->create(folder_ / "a.pt", spec);
    catalog_ = store->catalog(folder_ / "a.pt");
    again_ = store->tree(folder_ / "a.pt");
  }
  /// What is in it, tensor by tensor and value by value.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    const Schema& schema = *catalog_.schema;
    for (const StoredArray& array : *schema.arrays) names.push_back(array.name);
    for (const Attribute& attribute : schema.attributes) names.push_back(attribute.name + "=");
    for (const Group& group : schema.groups)
      for (const Attribute& attribute : group.attributes) names.push_back(group.path + "/" + attribute.name + "=");
    for (const Leaf& leaf : schema.leaves) names.push_back(leaf.name + ": " + leaf.what);
    return names;
  }
  const std::string& tree() const { return tree_; }
  const std::string& again() const { return again_; }
  const Schema& schema() const { return *catalog_.schema; }

 private:
  TemporaryDirectory folder_;
  std::string tree_;
  std::string again_;
  FileCatalog catalog_;
};

/// A model, an optimizer with states by number, and what only Python knows.
std::string training() {
  const std::string state = "}(" + integer(0) + dict({{"exp_avg", two("1")}, {"step", integer(7)}}) + integer(1) +
                            dict({{"exp_avg", two("2")}}) + "u";
  return torch_file(dict({{"model", call(global("collections", "OrderedDict"), {}) + "(" + text("w") + two("0") + "u"},
                          {"state", state},
                          {"parts", "](" + two("0") + two("1") + "e"},
                          {"args", call(global("argparse", "Namespace"), {}) + dict({{"lr", integer(1)}}) + "b"},
                          {"big", "\x8a\x09" + std::string(8, '\0') + "\x40"}}),
                    {{"0", eight}, {"1", eight}, {"2", eight}});
}

using Names = std::vector<std::string>;

TEST_CASE("Leaves have one digest where they say the same, wherever their tensors lie and on which device") {
  const auto digest = [](const std::string& key, const std::string& device, std::int64_t number) {
    const std::string sixteen = "aaaabbbbccccdddd";
    const std::string place =
        fixture::tuple({text("storage"), global("torch", "FloatStorage"), text(key), text(device), integer(4)}) + "Q";
    const TemporaryDirectory folder;
    fixture::put_bytes(folder / "a.pt",
                       torch_file(dict({{"w", tensor(storage("0", 4), 0, {4}, {1})},
                                        {"args", call(global("argparse", "Namespace"), {}) + "}(" + text("t") +
                                                     tensor(place, 0, {4}, {1}) + text("n") + integer(number) + "ub"}}),
                                  {{"0", sixteen}, {"1", sixteen}}));
    const auto schema = torch_store()->catalog(folder / "a.pt").schema;
    REQUIRE(schema->leaves.size() == 1);
    CHECK(schema->leaves[0].is_carried);
    return schema->leaves[0].digest;
  };
  CHECK(digest("0", "cuda:0", 1) == digest("1", "cpu", 1));
  CHECK(digest("0", "cpu", 1) != digest("0", "cpu", 2));
}

TEST_CASE("A tree is written again as it was, with the tensors of the new file") {
  FileSpec spec;
  for (const char* name : {"model/w", "state/0/exp_avg", "state/1/exp_avg", "parts/0", "parts/1"})
    spec.arrays.push_back(array_of(name));
  const Rewritten file(training(), spec);
  CHECK(file.again() == file.tree());
  CHECK(file.names() == Names{"model/w", "parts/0", "parts/1", "state/0/exp_avg", "state/1/exp_avg",
                              "state/0/step=", "args: argparse.Namespace", "big: a number of 72 bits"});
}

/// Model states of ZeRO-3: the first weight is elsewhere, the second one has no elements.
std::string with_placeholders(const std::string& shapes_of_groups) {
  const auto empty = [](const std::string& key) { return tensor(storage(key, 0), 0, {0}, {1}); };
  const auto size = [](std::int64_t extent) { return call(global("torch", "Size"), {fixture::numbers({extent})}); };
  return torch_file(
      dict({{"module", dict({{"w", empty("0")}, {"none", empty("1")}, {"tied", empty("2")}, {"b", two("3")}})},
            {"param_shapes", "](" + shapes_of_groups + "e"},
            {"frozen_param_shapes", dict({{"none", size(0)}})}}),
      {{"0", ""}, {"1", ""}, {"2", ""}, {"3", eight}});
}

TEST_CASE("Empty tensors that stand for weights elsewhere are no tensors, and stay in the tree") {
  const std::string size = call(global("torch", "Size"), {fixture::numbers({2})});
  FileSpec spec;
  spec.arrays = {array_of("module/b"), array_of("module/none")};
  spec.arrays[1].shape = {0};
  const Rewritten file(with_placeholders(dict({{"w", size}})), spec);
  CHECK(file.schema().arrays->size() == 2);
  CHECK_THAT(file.again(), Contains("tied"));
  const std::string nothing = call(global("torch", "Size"), {fixture::numbers({0})});
  spec.arrays = {array_of("module/b")};
  CHECK(Rewritten(with_placeholders(dict({{"none", nothing}})), spec).schema().arrays->size() == 1);
}

TEST_CASE("A tensor that the new file has not leaves the tree; in a list, None stays in its place") {
  FileSpec spec;
  spec.arrays = {array_of("model/w"), array_of("parts/1")};
  const Rewritten file(training(), spec);
  CHECK(file.names() == Names{"model/w", "parts/1", "parts/0=", "state/0/step=", "args: argparse.Namespace",
                              "big: a number of 72 bits"});
}

TEST_CASE("A tensor comes back to its place in a list, where None was left") {
  const auto names = [](const std::string& left, const Names& tensors) {
    FileSpec spec;
    for (const std::string& name : tensors) spec.arrays.push_back(array_of(name));
    return Rewritten(torch_file(dict({{"parts", left}}), {{"0", eight}}), spec).names();
  };
  const Names both{"parts/0", "parts/1"};
  CHECK(names("](" + two("0") + "Ne", both) == both);
  CHECK(names("](NNe", both) == both);
  CHECK(names("](N" + text("a") + "e", {"parts/0"}) == Names{"parts/0", "parts/1="});
}

TEST_CASE("A new tensor is put in at its path: by number among numbers, in new dicts, and behind a list") {
  FileSpec spec;
  for (const char* name : {"model/w", "model/b", "state/12/exp_avg", "new/one/w", "parts/4", "parts/0", "model/w/x"})
    spec.arrays.push_back(array_of(name));
  spec.attributes = {{"epoch", integers_value({3})}, {"args", text_value("is there")}};
  spec.groups = {{"state/12", {{"step", integers_value({9})}}}, {"state/0", {{"step", integers_value({9})}}}};
  const Rewritten file(training(), spec);
  CHECK(file.names() == Names{"model/b", "model/w", "model/w/x", "new/one/w", "parts/0", "parts/4", "state/12/exp_avg",
                              "epoch=", "parts/1=", "parts/2=", "parts/3=", "state/0/step=", "state/12/step=",
                              "args: argparse.Namespace", "big: a number of 72 bits"});
  CHECK_THAT(file.again(), Contains("K\x0c"));  // the key 12
  spec.arrays = {array_of("parts/x")};
  CHECK_THAT(error_of([&] { Rewritten(training(), spec); }), Contains("/parts/x") && Contains("a list of 2"));
  spec.arrays = {array_of("args")};
  CHECK_THAT(error_of([&] { Rewritten(training(), spec); }), Contains("/args") && Contains("another value"));
}

TEST_CASE("Tied arrays share a storage") {
  FileSpec spec;
  spec.arrays = {array_of("model/w"), array_of("parts/0"), array_of("parts/1")};
  spec.arrays[1].same_as = 0;
  const Rewritten file(training(), spec);
  const auto place = [&](const char* name) { return file.schema().datasets[file.schema().find(name)].extents; };
  CHECK(place("parts/0") == place("model/w"));
  CHECK_FALSE(place("parts/1") == place("model/w"));
}

TEST_CASE("What is around a tensor stays around it: a parameter, a class with attributes, an object with a tensor") {
  const std::string parameter = call(global("torch._utils", "_rebuild_parameter"),
                                     {two("0"), "\x88", call(global("collections", "OrderedDict"), {})});
  const std::string typed =
      call(global("torch._tensor", "_rebuild_from_type_v2"),
           {global("torch._utils", "_rebuild_tensor_v2"), global("torch", "Tensor"),
            fixture::tuple({storage("1", 2), integer(0), fixture::numbers({2}), fixture::numbers({1}), "\x89", "N"}),
            dict({{"note", text("mine")}})});
  const std::string object = call(global("mine", "Object"), {}) + dict({{"t", two("2")}, {"again", two("2")}}) + "b";
  FileSpec spec;
  spec.arrays = {array_of("parameter"), array_of("typed")};
  const Rewritten file(torch_file(dict({{"parameter", parameter}, {"typed", typed}, {"object", object}}),
                                  {{"0", eight}, {"1", eight}, {"2", "ccccdddd"}}),
                       spec);
  CHECK(file.again() == file.tree());
  CHECK_THAT(file.again(), Contains("_rebuild_parameter") && Contains("_rebuild_from_type_v2") && Contains("ccccdddd"));
  const Dataset& dataset = file.schema().datasets[file.schema().find("typed")];
  REQUIRE(dataset.attributes.size() == 1);
  CHECK(text_in(dataset.attributes[0].value) == "mine");
}

TEST_CASE("Values in one another without end are refused, and shared ones stay shared") {
  FileSpec spec;
  spec.arrays = {array_of("w")};
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep += "](";
  deep = call(global("mine", "Object"), {}) + deep + std::string(2000, 'e') + "b";
  CHECK_THAT(error_of([&] {
               Rewritten(torch_file(dict({{"w", two("0")}, {"deep", deep}}), {{"0", eight}}), spec);
             }),
             Contains("900 values in one another"));
  // An object that holds itself, and one text twice.
  const std::string self = call(global("mine", "Object"), {}) + "q\x05" +
                           dict({{"self", "h\x05"}, {"a", text("text") + "q\x06"}, {"b", "h\x06"}}) + "b";
  const Rewritten file(torch_file(dict({{"w", two("0")}, {"self", self}}), {{"0", eight}}), spec);
  CHECK(file.again() == file.tree());
}

}  // namespace
