#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/wire.hpp"
#include "catch.hpp"
#include "refused.hpp"
#include "store/dcp/dcp_directory.hpp"
#include "store/dcp/dcp_file.hpp"
#include "store/dcp/dcp_parts.hpp"
#include "store/dcp/dcp_store.hpp"
#include "store/dcp/path_tree.hpp"
#include "temporary_directory.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;
using namespace ckpt::torch;
using Catch::Matchers::Contains;
using fixture::refused;

namespace {

const DType f32 = number_type("f32").value();

FileSpec::Array piece(const std::string& name, const Shape& shape, const Shape& of, const Shape& origin) {
  FileSpec::Array array{name, f32, shape, {}, of, {}};
  array.origin = origin;
  array.source_name = name;
  return array;
}

FileSpec with_tree(const std::string& pickle) {
  FileSpec spec;
  spec.tree = std::make_shared<const std::string>(pickle);
  return spec;
}

std::string carried(const std::string& name) {
  return fixture::tuple({fixture::text("tensor"), fixture::text(name)}) + "Q";
}

std::vector<std::string> names_of(const std::vector<DcpParts::Object>& objects) {
  std::vector<std::string> names;
  for (const auto& object : objects) names.push_back(dcp_name(object.path));
  return names;
}

}  // namespace

TEST_CASE("what is written of a directory of DCP is read again") {
  DcpMetadata metadata{{"__0_0.distcp", "__1_0.distcp"}, {}, {}};
  metadata.tensors.push_back({"a.0",
                              f32,
                              {5, 2},
                              {{{{0, 0}, {3, 2}}, 0, 0, {64, 700}}, {{{3, 0}, {5, 2}}, 1, 0, {0, 640}}},
                              {{"a"}, {"0", true}}});
  metadata.tensors.push_back(
      {"scalar", number_type("bf16").value(), {}, {{{{}, {}}, 1, 0, {704, 1400}}}, {{"scalar"}}});
  metadata.objects.push_back({"lr", {{"lr"}}, 0, {704, 1 << 20}});
  const DcpMetadata again = parse_dcp_metadata(pickled(metadata));
  CHECK(wire::packed(again) == wire::packed(metadata));
}

TEST_CASE("what cannot be read of a directory of DCP travels with its reason, whichever rank says it") {
  const Error why(Kind::input, "", {"of the type odd", "one that is known", "leave it out"});
  const DcpTensor refused{"w", {}, {0}, {{{{0}, {0}}, 0, 0, {0, 640}}}, {{"w"}}, why};
  const DcpTensor plain{"w", f32, {4}, {{{{0}, {4}}, 0, 0, {0, 640}}}, {{"w"}}};
  const DcpMetadata some{{"__0_0.distcp"}, {refused}, {}};
  const DcpMetadata again = wire::unpacked<DcpMetadata>(wire::packed(some));
  REQUIRE(again.tensors.at(0).refusal);
  CHECK(again.tensors[0].refusal->what() == std::string(why.what()));
  CHECK(again.tensors[0].chunks[0].item == Interval{0, 640});
  CHECK(within_files(some, {true}).tensors.at(0).refusal.has_value());
  const DcpMetadata other{{"__1_0.distcp"}, {plain}, {}};
  for (const std::vector<DcpMetadata>& ranks : {std::vector{some, other}, std::vector{other, some}}) {
    const DcpMetadata all = merged(ranks);
    REQUIRE(all.tensors.size() == 1);
    CHECK(all.tensors[0].refusal.has_value());
    CHECK(all.tensors[0].chunks.size() == 1);
    CHECK(all.files[all.tensors[0].chunks[0].file] == "__0_0.distcp");
  }
}

TEST_CASE("a file of DCP has an item for each piece, and tells its index of them") {
  FileSpec spec;
  spec.arrays = {piece("w", {2, 2}, {5, 2}, {3, 0}), piece("late", {0, 2}, {4, 2}, {4, 0}),
                 piece("none", {0}, {0}, {0})};
  spec.attributes.push_back({"epoch", text_value("seven")});
  const NewFile form = dcp_form(spec);
  REQUIRE(form.room.data.size() == 3);
  CHECK(form.room.data[0].bytes() == 16);
  CHECK(form.room.data[0].offset() % 64 == 0);
  CHECK(form.room.data[1].bytes() == 0);
  const DcpMetadata index = dcp_metadata_of({{"__3_0.distcp", form.room.index}});
  REQUIRE(index.tensors.size() == 2);  // an empty piece of what is not empty is none
  CHECK(index.tensors[0].name == "none");
  CHECK(index.tensors[1].chunks[0].box == Box{{3, 0}, {5, 2}});
  CHECK(index.tensors[1].chunks[0].item.lo < form.room.data[0].offset());
  CHECK(index.tensors[1].chunks[0].item.hi > form.room.data[0].offset() + 16);
  REQUIRE(index.objects.size() == 1);
  CHECK(index.objects[0].name == "epoch");
  CHECK(index.objects[0].item.hi == form.room.bytes);
}

TEST_CASE("an index of DCP that was read is not read again for its contents") {
  const fixture::TemporaryDirectory directory;
  const auto path = directory / dcp_index;
  const auto write = [&](const std::string& name) {
    DcpMetadata metadata{{"__0_0.distcp"}, {}, {}};
    metadata.tensors.push_back({name, f32, {2}, {{{{0}, {2}}, 0, 0, {0, 640}}}, {{name}}});
    std::ofstream(path, std::ios::binary) << pickled(metadata);
  };
  write("a");
  const auto time = std::filesystem::last_write_time(path);
  CHECK(read_dcp_metadata(path.parent_path()).tensors.front().chunks.size() == 1);
  write("b");
  std::filesystem::last_write_time(path, time);
  const DcpMetadata kept = read_dcp_contents(path.parent_path());
  CHECK(kept.tensors.front().name == "a");
  CHECK(kept.tensors.front().chunks.empty());
  std::filesystem::last_write_time(path, time + std::chrono::seconds(1));
  CHECK(read_dcp_contents(path.parent_path()).tensors.front().name == "b");
}

TEST_CASE("a name of DCP stands for one value") {
  FileSpec spec;
  spec.arrays = {piece("epoch", {2}, {2}, {0})};
  spec.attributes.push_back({"epoch", text_value("seven")});
  CHECK_THAT(refused([&] { dcp_form(spec); }), Contains("two values would have this name"));
  CHECK_THAT(refused([&] { dcp_losses(spec); }), Contains("two values would have this name"));
  spec.arrays.clear();
  const std::string index = dcp_form(spec).room.index;
  const std::vector<IndexedFile> files{{"__0_0.distcp", index}, {"__1_0.distcp", index}};
  CHECK_THAT(refused([&] { dcp_metadata_of(files); }), Contains("two values would have this name"));
}

TEST_CASE("a tree is cut into DCP's items as torch cuts it") {
  using fixture::dict, fixture::integer, fixture::text, fixture::tuple;
  const std::string list = "](" + integer(1) + integer(2) + "e";
  const std::string of_tensors = "](" + carried("l/0") + text("x") + "e";
  const DcpParts parts = dcp_parts(with_tree(fixture::pickle(
      dict({{"m", dict({{"w", carried("m/w")}})}, {"l", of_tensors}, {"n", list}, {"empty", "}"}, {"s", text("x")}}))));
  REQUIRE(parts.tensors.size() == 2);
  CHECK(parts.tensors[0].name == "m.w");
  CHECK(parts.tensors[0].path == DcpPath{{"m"}, {"w"}});
  CHECK(parts.tensors[1].path == DcpPath{{"l"}, {"0", true}});
  CHECK(names_of(parts.objects) == std::vector<std::string>{"l.1", "n", "empty", "s"});
}

TEST_CASE("attributes that a tree has are no items of their own") {
  FileSpec spec =
      with_tree(fixture::pickle(fixture::dict({{"n", "](" + fixture::integer(1) + fixture::text("x") + "e"}})));
  spec.attributes.push_back({"more", text_value("one")});
  spec.groups.push_back({"n", {{"0", text_value("one")}}});
  CHECK(names_of(dcp_parts(spec).objects) == std::vector<std::string>{"n", "more"});
}

TEST_CASE("a file of DCP by itself is told from its directory") {
  const fixture::TemporaryDirectory directory;
  const auto store = dcp_store();
  store->create(directory / "__0_0.distcp", with_tree(fixture::pickle(fixture::dict({{"a", fixture::integer(1)}}))));
  CHECK(store->recognises(directory / "__0_0.distcp"));
  CHECK_THAT(refused([&] { store->catalog(directory / "__0_0.distcp"); }), Contains("give the directory"));
  std::ofstream(directory / ".metadata") << store->index()->texts({}).back().bytes;
  CHECK(store->index()->recognises(directory / ".metadata"));
  CHECK_FALSE(store->index()->recognises(directory / "__0_0.distcp"));
}
