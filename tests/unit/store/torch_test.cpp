#include "catch.hpp"
#include "store/stores.hpp"
#include "unit/store/torch_read_fixture.hpp"

using namespace ckpt;

namespace {

using namespace std::string_literals;
using namespace fixture;
using Catch::Matchers::Contains;

TEST_CASE("Tensors of a torch file are read by offset, views of one storage too") {
  for (const bool wide : {false, true}) {
    const std::string four = storage("0", 4);
    const ReadTorch file(torch_file(dict({{"whole", tensor(four, 0, {2, 2}, {2, 1})},
                                          {"turned", tensor(four, 0, {2, 2}, {1, 2})},
                                          {"column", tensor(four, 1, {2, 1}, {2, 1})},
                                          {"tail", tensor(four, 2, {2}, {1})},
                                          {"expanded", tensor(four, 3, {2, 2}, {0, 0})},
                                          {"scalar", tensor(four, 1, {}, {})},
                                          {"empty", tensor(storage("1", 0), 0, {0, 7}, {7, 1})}}),
                                    {{"0", abcd}, {"1", ""}}, wide));
    CHECK(file.schema().format == "torch");
    CHECK(file.dataset("whole").storage == Storage::raw);
    CHECK(file.array("whole").dtype == number_type("f32"));
    CHECK(file.array("whole").shape == Shape{2, 2});
    CHECK(file.data("whole") == abcd);
    CHECK(file.dataset("turned").storage == Storage::strided);
    CHECK(file.data("turned") == "aaaaccccbbbbdddd");
    CHECK(file.data("column") == "bbbbdddd");
    CHECK(file.dataset("tail").storage == Storage::raw);
    CHECK(file.data("tail") == "ccccdddd");
    CHECK(file.data("expanded") == "dddddddddddddddd");
    CHECK(file.array("scalar").shape == Shape{});
    CHECK(file.data("scalar") == "bbbb");
    CHECK(file.dataset("empty").storage == Storage::empty);
    CHECK(file.array("empty").shape == Shape{0, 7});
  }
}

TEST_CASE(
    "A torch tensor is a parameter, one with a type of its own, with attributes, or a shard of a distributed one") {
  const std::string plain = tensor(storage("0", 4), 0, {4}, {1});
  const std::string v3 = utils("_rebuild_tensor_v3", {storage("0", 16, "UntypedStorage"), integer(1), numbers({3}),
                                                      numbers({1}), "\x89", "}", global("torch", "uint32")});
  const std::string f8 = utils("_rebuild_tensor_v3", {storage("0", 16, "UntypedStorage"), integer(1), numbers({15}),
                                                      numbers({1}), "\x89", "}", global("torch", "float8_e8m0fnu")});
  const std::string with_attribute =
      call(global("torch._tensor", "_rebuild_from_type_v2"),
           {global("torch._utils", "_rebuild_tensor_v2"), global("torch.nn.parameter", "Parameter"),
            tuple({storage("0", 4), integer(0), numbers({4}), numbers({1}), "\x89", "}"}),
            dict({{"sequence_parallel", "\x88"}})});
  const auto object = [](const std::string& name, const std::string& state) {
    return global("torch.distributed", name) + ")\x81" + state + "b";
  };
  const auto shard_of = [&](const std::string& spec) {
    return call(global("torch._tensor", "_rebuild_from_type_v2"),
                {global("torch._utils", "_rebuild_wrapper_subclass"), global("torch.distributed.tensor", "DTensor"),
                 tuple({global("torch.distributed.tensor", "DTensor"), global("torch", "float32"), numbers({7})}),
                 tuple({"N", dict({{"_local_tensor", plain}, {"_spec", spec}})})});
  };
  const auto placed = [&](const std::string& first) {
    return object("DTensorSpec",
                  dict({{"mesh", object("DeviceMesh", dict({{"_coordinate_on_dim", numbers({1, 0})},
                                                            {"mesh_dim_names", tuple({text("dp"), text("tp")})}}))},
                        {"placements", tuple({first, object("Shard", dict({{"dim", integer(0)}}))})}}));
  };
  const std::string strided = object("_StridedShard", dict({{"dim", integer(0)}, {"split_factor", integer(2)}}));
  const ReadTorch file(torch_file(dict({{"parameter", utils("_rebuild_parameter", {plain, "\x88", "}"})},
                                        {"u32", v3},
                                        {"f8", f8},
                                        {"marked", with_attribute},
                                        {"shard", shard_of(placed(strided))},
                                        {"unknown", shard_of("N")},
                                        {"bare", storage("0", 4)}}),
                                  {{"0", abcd}}));
  CHECK(file.data("parameter") == abcd);
  CHECK(file.array("u32").dtype == number_type("u32"));
  CHECK(file.data("u32") == abcd.substr(4));
  CHECK(file.array("f8").dtype.name == "f8_e8m0");
  CHECK(file.data("f8") == abcd.substr(1));
  REQUIRE(file.dataset("marked").attributes.size() == 1);
  CHECK(file.dataset("marked").attributes[0].name == "sequence_parallel");
  CHECK(file.array("shard").shape == Shape{4});
  CHECK(file.array("shard").global_shape == Shape{7});
  CHECK(file.data("shard") == abcd);
  CHECK(file.dataset("shard").piece == Piece{{}, {{"dp", 2, 1, 2}, {"tp", 1, 0, 0}}, {{1, 0}}});
  CHECK(file.array("unknown").global_shape == Shape{7});
  CHECK_FALSE(file.dataset("unknown").piece);
  CHECK_THAT(refused_tensor(shard_of(placed(object("Partial", "}")))), Contains("placement is Partial"));
  CHECK(file.array("bare").shape == Shape{4});
}

TEST_CASE("A torch file's names are paths, and its other values attributes") {
  const std::string w = tensor(storage("0", 4), 0, {4}, {1});
  const std::string state = "}(" + integer(0) + dict({{"step", integer(5)}, {"exp_avg", w}}) + "u";
  const ReadTorch file(torch_file(
      dict({{"model", dict({{"layer.0.weight", w}})},
            {"optimizer", dict({{"state", state},
                                {"param_groups", "](" +
                                                     dict({{"lr", "G" + "\x3f\xe0\0\0\0\0\0\0"s},
                                                           {"params", "](" + integer(0) + integer(1) + "e"}}) +
                                                     "e"}})},
            {"epoch", integer(3)},
            {"name", text("run 7")},
            {"nothing", "N"},
            {"args", call(global("argparse", "Namespace"), {})}}),
      {{"0", abcd}}));
  std::vector<std::string> names;
  for (const StoredArray& array : *file.schema().arrays) names.push_back(array.name);
  CHECK(names == std::vector<std::string>{"model/layer.0.weight", "optimizer/state/0/exp_avg"});
  const auto& root = file.schema().attributes;
  REQUIRE(root.size() == 3);
  CHECK(root[0].name == "epoch");
  CHECK(root[0].value.bytes == little(3, 8));
  CHECK(text_in(root[1].value) == "run 7");
  CHECK_FALSE(root[2].value.shape);
  const auto& groups = file.schema().groups;
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].path == "optimizer/param_groups/0");
  CHECK(groups[0].attributes[0].value.dtype == number_type("f64"));
  CHECK(shape_in(groups[0].attributes[1].value) == Shape{0, 1});
  CHECK(groups[1].path == "optimizer/state/0");
}

TEST_CASE("Lists are one attribute, one for each item, or leaves, by what they hold and how long they are") {
  std::string state;
  std::string mixed;
  for (int i = 0; i < 140'000; ++i) {  // more than a MiB
    state += integer(i);
    if (i < 70) mixed += integer(i) + text("x");
  }
  const ReadTorch file(torch_file(dict({{"short", "](" + integer(1) + text("x") + "e"},
                                        {"long", "](" + state + "e"},
                                        {"mixed", "](" + mixed + "e"},
                                        {"class", global("torch", "Size")},
                                        {"maker", global("copyreg", "_reconstructor")},
                                        {"empty", "]"},
                                        {"size", call(global("torch", "Size"), {numbers({2, 3})})}})));
  const auto& root = file.schema().attributes;
  REQUIRE(root.size() == 2);
  CHECK(root[0].name == "empty");
  CHECK(root[0].value.shape == Shape{0});
  CHECK(shape_in(root[1].value) == Shape{2, 3});
  REQUIRE(file.schema().groups.size() == 1);
  CHECK(file.schema().groups[0].path == "short");
  CHECK(file.schema().groups[0].attributes.size() == 2);
  const std::vector<Leaf>& leaves = file.schema().leaves;
  REQUIRE(leaves.size() == 4);
  CHECK(leaves[0].what == "a list of 140000");
  CHECK(leaves[0].json.empty());  // too long for an attribute
  CHECK_THAT(leaves[1].json, Catch::Matchers::StartsWith("[0,\"x\",1,\"x\""));
  CHECK(leaves[2].name == "class");
  CHECK(leaves[3].what == "copyreg._reconstructor");
}

TEST_CASE("A torch file may be one tensor") {
  const ReadTorch file(torch_file(tensor(storage("0", 4), 0, {4}, {1}), {{"0", abcd}}));
  CHECK(file.data("tensor") == abcd);
}

TEST_CASE("An object without tensors is a leaf of a file that holds nothing else") {
  const ReadTorch file(torch_file(call(global("transformers", "TrainingArguments"), {})));
  const Schema& schema = file.schema();
  CHECK(schema.arrays->empty());
  REQUIRE(schema.leaves.size() == 1);
  CHECK(schema.leaves[0].name == "object");
  CHECK(schema.leaves[0].what == "transformers.TrainingArguments");
}

/// The form before torch 1.6.
std::string legacy_file(const std::string& object, const std::vector<std::pair<std::string, std::string>>& storages) {
  std::vector<std::string> keys;
  std::string data;
  for (const auto& [key, bytes] : storages) {
    keys.push_back(text(key));
    data += little(bytes.size() / 4, 8) + bytes;
  }
  return "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s + pickle("M\xe9\x03") +
         pickle(dict({{"protocol_version", "M\xe9\x03"}, {"little_endian", "\x88"}})) + pickle(object) +
         pickle(tuple(keys)) + data;
}

TEST_CASE("The form before torch 1.6 is read by offset, too") {
  const std::string bytes = legacy_file(
      dict({{"w", tensor(storage("5", 4), 0, {2, 2}, {1, 2})}, {"b", tensor(storage("6", 2), 1, {1}, {1})}}),
      {{"5", abcd}, {"6", "eeeeffff"}});
  const ReadTorch file(bytes);
  CHECK(file.data("w") == "aaaaccccbbbbdddd");
  CHECK(file.data("b") == "ffff");
  for (std::size_t size = 15; size < bytes.size(); size += 7) CHECK_FALSE(refused_torch(bytes.substr(0, size)).empty());
  // Longer than what is read of a file at first.
  const ReadTorch large(legacy_file(
      dict({{"note", text(std::string(3'000'000, 'n'))}, {"w", tensor(storage("5", 4), 0, {4}, {1})}}), {{"5", abcd}}));
  CHECK(large.data("w") == abcd);
}

TEST_CASE("Torch files are told by their content, and are not written") {
  const TemporaryDirectory folder;
  put_bytes(folder / "a.odd", torch_file(dict({{"w", tensor(storage("0", 4), 0, {4}, {1})}}), {{"0", abcd}}));
  Stores stores;
  const FileCatalog catalog = stores.reading().catalog(folder / "a.odd");
  CHECK(catalog.schema->format == "torch");
  CHECK(data_of(*stores.reading().open(folder / "a.odd", catalog), catalog, "w") == abcd);
  put_bytes(folder / "text.bin", "no checkpoint");
  CHECK_THAT(error_of([&] { stores.reading().catalog(folder / "text.bin"); }),
             Contains("none of the known formats") && Contains("seems to be text"));
}

TEST_CASE("Torch files that say the same share what they say") {
  const TemporaryDirectory folder;
  const auto file = [&](const std::string& data) {
    return torch_file(dict({{"w", tensor(storage("0", 4), 0, {4}, {1})}}), {{"0", data}});
  };
  put_bytes(folder / "a.pt", file(abcd));
  put_bytes(folder / "b.pt", file("eeeeffffgggghhhh"));
  const auto store = torch_store();
  CHECK(store->catalog(folder / "a.pt").schema == store->catalog(folder / "b.pt").schema);
}

}  // namespace
