#include "catch.hpp"
#include "store/stores.hpp"
#include "store/torch/torch_store.hpp"
#include "unit/store/torch_fixture.hpp"

namespace ckpt {
namespace {

using namespace std::string_literals;
using Catch::Matchers::Contains;
using fixture::call;
using fixture::dict;
using fixture::error_of;
using fixture::global;
using fixture::integer;
using fixture::numbers;
using fixture::storage;
using fixture::TemporaryDirectory;
using fixture::tensor;
using fixture::text;
using fixture::torch_file;
using fixture::tuple;

/// Sixteen bytes: four elements of four.
const std::string abcd = "aaaabbbbccccdddd";

/// A file that is catalogued, and the bytes of its tensors.
class Read {
 public:
  explicit Read(const std::string& bytes) {
    fixture::put_bytes(folder_ / "a.pt", bytes);
    const auto store = torch_store();
    REQUIRE(store->recognises(folder_ / "a.pt"));
    catalog_ = store->catalog(folder_ / "a.pt");
    source_ = store->open(folder_ / "a.pt", catalog_);
  }
  const Schema& schema() const { return *catalog_.schema; }
  const StoredArray& array(const std::string& name) const { return schema().arrays->at(schema().find(name)); }
  const Dataset& dataset(const std::string& name) const { return schema().datasets.at(schema().find(name)); }
  std::string data(const std::string& name) const { return fixture::data_of(*source_, catalog_, name); }

 private:
  TemporaryDirectory folder_;
  FileCatalog catalog_;
  std::unique_ptr<SourceFile> source_;
};

std::string refused_torch(const std::string& bytes) {
  std::string said = error_of([&] { Read{bytes}; });
  CHECK_THAT(said, Contains("a.pt"));
  return said;
}

/// A file of one tensor "w" of storage 0.
std::string refused_tensor(const std::string& value) {
  std::string said = refused_torch(torch_file(dict({{"w", value}}), {{"0", abcd}}));
  CHECK_THAT(said, Contains("/w"));
  return said;
}

std::string utils(const std::string& function, const std::vector<std::string>& arguments) {
  return call(global("torch._utils", function), arguments);
}

TEST_CASE("Tensors of a torch file are read by offset, views of one storage too") {
  for (const bool wide : {false, true}) {
    const std::string four = storage("0", 4);
    const Read file(torch_file(dict({{"whole", tensor(four, 0, {2, 2}, {2, 1})},
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
    CHECK(file.array("whole").shape == Extents{2, 2});
    CHECK(file.data("whole") == abcd);
    CHECK(file.dataset("turned").storage == Storage::strided);
    CHECK(file.data("turned") == "aaaaccccbbbbdddd");
    CHECK(file.data("column") == "bbbbdddd");
    CHECK(file.dataset("tail").storage == Storage::raw);
    CHECK(file.data("tail") == "ccccdddd");
    CHECK(file.data("expanded") == "dddddddddddddddd");
    CHECK(file.array("scalar").shape == Extents{});
    CHECK(file.data("scalar") == "bbbb");
    CHECK(file.dataset("empty").storage == Storage::empty);
    CHECK(file.array("empty").shape == Extents{0, 7});
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
  const Read file(torch_file(dict({{"parameter", utils("_rebuild_parameter", {plain, "\x88", "}"})},
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
  CHECK(file.array("shard").shape == Extents{4});
  CHECK(file.array("shard").global_shape == Extents{7});
  CHECK(file.data("shard") == abcd);
  CHECK(file.dataset("shard").piece == Piece{{}, {{"dp", 2, 1, 2}, {"tp", 1, 0, 0}}, {{1, 0}}});
  CHECK(file.array("unknown").global_shape == Extents{7});
  CHECK_FALSE(file.dataset("unknown").piece);
  CHECK_THAT(refused_tensor(shard_of(placed(object("Partial", "}")))), Contains("placement is Partial"));
  CHECK(file.array("bare").shape == Extents{4});
}

TEST_CASE("A torch file's names are paths, and its other values attributes") {
  const std::string w = tensor(storage("0", 4), 0, {4}, {1});
  const std::string state = "}(" + integer(0) + dict({{"step", integer(5)}, {"exp_avg", w}}) + "u";
  const Read file(torch_file(
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
  CHECK(root[0].value.bytes == fixture::little(3, 8));
  CHECK(text_in(root[1].value) == "run 7");
  CHECK_FALSE(root[2].value.shape);
  const auto& groups = file.schema().groups;
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].path == "optimizer/param_groups/0");
  CHECK(groups[0].attributes[0].value.dtype == number_type("f64"));
  CHECK(extents_in(groups[0].attributes[1].value) == Extents{0, 1});
  CHECK(groups[1].path == "optimizer/state/0");
}

TEST_CASE("Lists are one attribute, one for each item, or leaves, by what they hold and how long they are") {
  std::string state;
  std::string mixed;
  for (int i = 0; i < 140'000; ++i) {  // more than a MiB
    state += integer(i);
    if (i < 70) mixed += integer(i) + text("x");
  }
  const Read file(torch_file(dict({{"short", "](" + integer(1) + text("x") + "e"},
                                   {"long", "](" + state + "e"},
                                   {"mixed", "](" + mixed + "e"},
                                   {"class", global("torch", "Size")},
                                   {"maker", global("copyreg", "_reconstructor")},
                                   {"empty", "]"},
                                   {"size", call(global("torch", "Size"), {numbers({2, 3})})}})));
  const auto& root = file.schema().attributes;
  REQUIRE(root.size() == 2);
  CHECK(root[0].name == "empty");
  CHECK(root[0].value.shape == Extents{0});
  CHECK(extents_in(root[1].value) == Extents{2, 3});
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
  const Read file(torch_file(tensor(storage("0", 4), 0, {4}, {1}), {{"0", abcd}}));
  CHECK(file.data("tensor") == abcd);
}

TEST_CASE("Tensors whose elements are not what is stored are refused by name, and what to do is said") {
  CHECK_THAT(refused_tensor(utils("_rebuild_sparse_tensor", {})), Contains("sparse") && Contains("to_dense()"));
  CHECK_THAT(refused_tensor(utils("_rebuild_qtensor", {})), Contains("quantised") && Contains("int_repr()"));
  CHECK_THAT(refused_tensor(utils("_rebuild_meta_tensor_no_storage", {})), Contains("device meta"));
  CHECK_THAT(refused_tensor(utils("_rebuild_future_tensor", {})), Contains("_rebuild_future_tensor"));
  CHECK_THAT(refused_tensor(call(global("mine", "make"), {storage("0", 4)})), Contains("that mine.make makes"));
  CHECK_THAT(refused_tensor(call(global("torch.storage", "_load_from_bytes"), {"C\1a"})), Contains("use torch.save"));
  const std::string flags = "}(" + text("conj") + "\x88u";
  CHECK_THAT(refused_tensor(utils("_rebuild_tensor_v2",
                                  {storage("0", 4), integer(0), numbers({4}), numbers({1}), "\x89", "}", flags})),
             Contains("resolve_conj()"));
  CHECK_THAT(refused_tensor(tensor(storage("0", 16, "QUInt8Storage"), 0, {4}, {1})), Contains("QUInt8Storage"));
}

TEST_CASE("Tensors that lie outside their storage are refused") {
  const std::string four = storage("0", 4);
  CHECK_THAT(refused_tensor(tensor(four, 0, {5}, {1})), Contains("ends at byte 20") && Contains("storage of 16"));
  CHECK_THAT(refused_tensor(tensor(four, 1, {2, 2}, {2, 1})), Contains("ends at byte 20"));
  CHECK_THAT(refused_tensor(tensor(four, -1, {2}, {1})), Contains("offset of -1"));
  CHECK_THAT(refused_tensor(tensor(four, 2, {2}, {-1})), Contains("strides of -1"));
  CHECK_THAT(refused_tensor(tensor(four, 0, {1LL << 40, 1LL << 40}, {1, 1})), Contains("2^64"));
  CHECK_THAT(refused_tensor(tensor(four, 0, {2, 2}, {1LL << 62, 1LL << 62})), Contains("2^64"));
  CHECK_THAT(refused_tensor(tensor(four, 0, {1LL << 40, 1LL << 20}, {0, 0})), Contains("expanded"));
  CHECK_THAT(refused_tensor(tensor(four, 0, {4}, {1, 1})), Contains("2 strides"));
  CHECK_THAT(refused_tensor(tensor(storage("7", 4), 0, {4}, {1})), Contains("storage 7"));
  CHECK_THAT(refused_tensor(tensor(storage("0", 1LL << 50), 0, {4}, {1})), Contains("storage 0 of"));
  CHECK_THAT(refused_tensor(tensor(integer(1), 0, {4}, {1})), Contains("storage of another form"));
  CHECK_THAT(refused_tensor(utils("_rebuild_tensor_v2", {four})), Contains("too few arguments"));
  const std::string size = global("torch", "Size");  // the class in the place of a size
  CHECK_THAT(refused_tensor(utils("_rebuild_tensor_v2", {four, integer(0), size, numbers({1})})), Contains("shape"));
  CHECK_THAT(refused_tensor(tensor(four, 0, std::vector<std::int64_t>(33, 1), std::vector<std::int64_t>(33, 1))),
             Contains("33 dimensions"));
}

TEST_CASE("Files that are no checkpoints are refused for what they are") {
  CHECK_THAT(refused_torch(fixture::zip({{"a/version", "3\n"}, {"a/.data/serialization_id", "1"}})),
             Contains("aborted"));
  CHECK_THAT(refused_torch(fixture::zip({{"a/data/0", "1"}})), Contains("zip archive without data.pkl"));
  CHECK_THAT(refused_torch(fixture::zip({{"a/data.pkl", fixture::pickle("}")}, {"a/constants.pkl", "1"}})),
             Contains("TorchScript"));
  CHECK_THAT(refused_torch(fixture::zip({{"a/data.pkl", fixture::pickle("}")}, {"a/byteorder", "big"}})),
             Contains("byte order big"));
  CHECK_THAT(refused_torch(fixture::zip({{"a/data.pkl", "\x80\x02}"}})), Contains("ends before its object"));
  CHECK_THAT(refused_torch(torch_file(
                 call(global("models", "Net"), {dict({{"w", tensor(storage("0", 4), 0, {4}, {1})}})}), {{"0", abcd}})),
             Contains("models.Net") && Contains("state_dict()"));
  CHECK_THAT(refused_torch(torch_file("}(" + integer(1) + tensor(storage("0", 4), 0, {4}, {1}) + text("1") +
                                          tensor(storage("0", 4), 0, {4}, {1}) + "u",
                                      {{"0", abcd}})),
             Contains("two tensors of this name"));
}

TEST_CASE("An object without tensors is a leaf of a file that holds nothing else") {
  const Read file(torch_file(call(global("transformers", "TrainingArguments"), {})));
  const Schema& schema = file.schema();
  CHECK(schema.arrays->empty());
  REQUIRE(schema.leaves.size() == 1);
  CHECK(schema.leaves[0].name == "object");
  CHECK(schema.leaves[0].what == "transformers.TrainingArguments");
}

TEST_CASE("A zip archive of something else is not recognised") {
  const TemporaryDirectory folder;
  fixture::put_bytes(folder / "a.npz", fixture::zip({{"arr_0.npy", "1"}}));
  fixture::put_bytes(folder / "b.npz", fixture::zip({{"a/w.npy", "1"}}));
  fixture::put_bytes(folder / "c.pt", torch_file("}"));
  const auto store = torch_store();
  CHECK_FALSE(store->recognises(folder / "a.npz"));
  CHECK_FALSE(store->recognises(folder / "b.npz"));
  CHECK_THAT(error_of([&] { store->catalog(folder / "a.npz"); }), Contains("a.npz: is no file of torch.save"));
  CHECK(store->recognises(folder / "c.pt"));
}

TEST_CASE("Trees without end are refused, and soon") {
  CHECK_THAT(refused_torch(torch_file("}q\0"s + text("a") + "h\0s"s)), Contains("hold itself"));
  CHECK_THAT(refused_torch(torch_file("]q\0h\0a"s)), Contains("hold itself"));
  std::string doubled = "]q"s + '\0';
  for (char i = 0; i < 60; ++i) doubled += "h"s + i + "h" + i + "\x86q" + static_cast<char>(i + 1);
  CHECK_THAT(refused_torch(torch_file(doubled)), Contains("values"));
}

/// The form before torch 1.6.
std::string legacy_file(const std::string& object, const std::vector<std::pair<std::string, std::string>>& storages) {
  std::vector<std::string> keys;
  std::string data;
  for (const auto& [key, bytes] : storages) {
    keys.push_back(text(key));
    data += fixture::little(bytes.size() / 4, 8) + bytes;
  }
  return "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s + fixture::pickle("M\xe9\x03") +
         fixture::pickle(dict({{"protocol_version", "M\xe9\x03"}, {"little_endian", "\x88"}})) +
         fixture::pickle(object) + fixture::pickle(tuple(keys)) + data;
}

TEST_CASE("The form before torch 1.6 is read by offset, too") {
  const std::string bytes = legacy_file(
      dict({{"w", tensor(storage("5", 4), 0, {2, 2}, {1, 2})}, {"b", tensor(storage("6", 2), 1, {1}, {1})}}),
      {{"5", abcd}, {"6", "eeeeffff"}});
  const Read file(bytes);
  CHECK(file.data("w") == "aaaaccccbbbbdddd");
  CHECK(file.data("b") == "ffff");
  for (std::size_t size = 15; size < bytes.size(); size += 7) CHECK_FALSE(refused_torch(bytes.substr(0, size)).empty());
  // Longer than what is read of a file at first.
  const Read large(legacy_file(
      dict({{"note", text(std::string(3'000'000, 'n'))}, {"w", tensor(storage("5", 4), 0, {4}, {1})}}), {{"5", abcd}}));
  CHECK(large.data("w") == abcd);
}

TEST_CASE("Torch files are told by their content, and are not written") {
  const TemporaryDirectory folder;
  fixture::put_bytes(folder / "a.odd", torch_file(dict({{"w", tensor(storage("0", 4), 0, {4}, {1})}}), {{"0", abcd}}));
  Stores stores;
  const FileCatalog catalog = stores.reading().catalog(folder / "a.odd");
  CHECK(catalog.schema->format == "torch");
  CHECK(fixture::data_of(*stores.reading().open(folder / "a.odd", catalog), catalog, "w") == abcd);
  fixture::put_bytes(folder / "text.bin", "no checkpoint");
  CHECK_THAT(error_of([&] { stores.reading().catalog(folder / "text.bin"); }), Contains("no file of torch.save"));
}

TEST_CASE("Torch files that say the same share what they say") {
  const TemporaryDirectory folder;
  const auto file = [&](const std::string& data) {
    return torch_file(dict({{"w", tensor(storage("0", 4), 0, {4}, {1})}}), {{"0", data}});
  };
  fixture::put_bytes(folder / "a.pt", file(abcd));
  fixture::put_bytes(folder / "b.pt", file("eeeeffffgggghhhh"));
  const auto store = torch_store();
  CHECK(store->catalog(folder / "a.pt").schema == store->catalog(folder / "b.pt").schema);
}

TEST_CASE("A torch file that is cut off is refused wherever it is, and one that is changed is read within itself") {
  const std::string whole =
      torch_file(dict({{"w", tensor(storage("0", 4), 0, {2, 2}, {1, 2})}, {"step", integer(5)}}), {{"0", abcd}});
  const TemporaryDirectory folder;
  const auto store = torch_store();
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    fixture::put_bytes(folder / "a.pt", whole.substr(0, size));
    CHECK_THAT(error_of([&] { store->catalog(folder / "a.pt"); }), Contains("a.pt"));
  }
  for (std::size_t at = 30; at < whole.size(); at += 5) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x11);
    fixture::put_bytes(folder / "a.pt", changed);
    if (!store->recognises(folder / "a.pt")) continue;  // the name that it begins with
    error_of([&] {
      const Read file(changed);
      for (const Interval& each : data_intervals(file.schema())) CHECK(each.hi <= whole.size());
      for (const StoredArray& each : *file.schema().arrays) file.data(each.name);
    });
  }
}

TEST_CASE("Files of other formats are not taken for torch's, nor one that has changed for what it was") {
  const TemporaryDirectory folder;
  const auto store = torch_store();
  for (const std::string& other : {""s, "x"s, std::string(3000, '\0'), "PK\3\4 and more"s, "\x80\x02}."s}) {
    fixture::put_bytes(folder / "a.pt", other);
    CHECK_FALSE(store->recognises(folder / "a.pt"));
    CHECK_THAT(error_of([&] { store->catalog(folder / "a.pt"); }), Contains("a.pt: is no file of torch.save"));
  }
  const std::string bytes = torch_file(dict({{"w", tensor(storage("0", 4), 0, {4}, {1})}}), {{"0", abcd}});
  fixture::put_bytes(folder / "a.pt", bytes);
  const FileCatalog catalog = store->catalog(folder / "a.pt");
  CHECK_FALSE(store->open(folder / "a.pt", catalog)->mappable(0, 16));
  fixture::put_bytes(folder / "a.pt", bytes + "x");
  CHECK_THAT(error_of([&] { store->open(folder / "a.pt", catalog); }), Contains("a.pt"));
}

}  // namespace
}  // namespace ckpt
