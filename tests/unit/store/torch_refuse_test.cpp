#include "catch.hpp"
#include "unit/store/torch_read_fixture.hpp"

using namespace ckpt;

namespace {

using namespace std::string_literals;
using namespace fixture;
using Catch::Matchers::Contains;

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
  CHECK_THAT(refused_torch(zip({{"a/version", "3\n"}, {"a/.data/serialization_id", "1"}})), Contains("aborted"));
  CHECK_THAT(refused_torch(zip({{"a/data/0", "1"}})), Contains("zip archive without data.pkl"));
  CHECK_THAT(refused_torch(zip({{"a/data.pkl", pickle("}")}, {"a/constants.pkl", "1"}})), Contains("TorchScript"));
  CHECK_THAT(refused_torch(zip({{"a/data.pkl", pickle("}")}, {"a/byteorder", "big"}})), Contains("byte order big"));
  CHECK_THAT(refused_torch(zip({{"a/data.pkl", "\x80\x02}"}})), Contains("ends before its object"));
  CHECK_THAT(refused_torch(torch_file(
                 call(global("models", "Net"), {dict({{"w", tensor(storage("0", 4), 0, {4}, {1})}})}), {{"0", abcd}})),
             Contains("models.Net") && Contains("state_dict()"));
  CHECK_THAT(refused_torch(torch_file("}(" + integer(1) + tensor(storage("0", 4), 0, {4}, {1}) + text("1") +
                                          tensor(storage("0", 4), 0, {4}, {1}) + "u",
                                      {{"0", abcd}})),
             Contains("two tensors of this name"));
}

TEST_CASE("A zip archive of something else is not recognised") {
  const TemporaryDirectory folder;
  put_bytes(folder / "a.npz", zip({{"arr_0.npy", "1"}}));
  put_bytes(folder / "b.npz", zip({{"a/w.npy", "1"}}));
  put_bytes(folder / "c.pt", torch_file("}"));
  const auto store = torch_store();
  CHECK_FALSE(store->recognises(folder / "a.npz"));
  CHECK_FALSE(store->recognises(folder / "b.npz"));
  CHECK_THAT(refusal(*store, folder / "a.npz"), Contains("a.npz: is no file of torch.save"));
  CHECK(store->recognises(folder / "c.pt"));
}

TEST_CASE("Trees without end are refused, and soon") {
  CHECK_THAT(refused_torch(torch_file("}q\0"s + text("a") + "h\0s"s)), Contains("hold itself"));
  CHECK_THAT(refused_torch(torch_file("]q\0h\0a"s)), Contains("hold itself"));
  std::string doubled = "]q"s + '\0';
  for (char i = 0; i < 60; ++i) doubled += "h"s + i + "h" + i + "\x86q" + static_cast<char>(i + 1);
  CHECK_THAT(refused_torch(torch_file(doubled)), Contains("values"));
}

TEST_CASE("A torch file that is cut off is refused wherever it is, and one that is changed is read within itself") {
  const std::string whole =
      torch_file(dict({{"w", tensor(storage("0", 4), 0, {2, 2}, {1, 2})}, {"step", integer(5)}}), {{"0", abcd}});
  const TemporaryDirectory folder;
  const auto store = torch_store();
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    put_bytes(folder / "a.pt", whole.substr(0, size));
    CHECK_THAT(refusal(*store, folder / "a.pt"), Contains("a.pt"));
  }
  for (std::size_t at = 30; at < whole.size(); at += 5) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x11);
    put_bytes(folder / "a.pt", changed);
    if (!store->recognises(folder / "a.pt")) continue;  // the name that it begins with
    error_of([&] {
      const ReadTorch file(changed);
      for (const Interval& each : data_intervals(file.schema())) CHECK(each.hi <= whole.size());
      for (const StoredArray& each : *file.schema().arrays) file.data(each.name);
    });
  }
}

TEST_CASE("Files of other formats are not taken for torch's, nor one that has changed for what it was") {
  const TemporaryDirectory folder;
  const auto store = torch_store();
  for (const std::string& other : {""s, "x"s, std::string(3000, '\0'), "PK\3\4 and more"s, "\x80\x02}."s}) {
    put_bytes(folder / "a.pt", other);
    CHECK_FALSE(store->recognises(folder / "a.pt"));
    CHECK_THAT(refusal(*store, folder / "a.pt"), Contains("a.pt: is no file of torch.save"));
  }
  const std::string bytes = torch_file(dict({{"w", tensor(storage("0", 4), 0, {4}, {1})}}), {{"0", abcd}});
  put_bytes(folder / "a.pt", bytes);
  const FileCatalog catalog = store->catalog(folder / "a.pt");
  CHECK_FALSE(store->open(folder / "a.pt", catalog)->located(0, 16));
  put_bytes(folder / "a.pt", bytes + "x");
  CHECK_THAT(error_of([&] { store->open(folder / "a.pt", catalog); }), Contains("a.pt"));
}

}  // namespace
