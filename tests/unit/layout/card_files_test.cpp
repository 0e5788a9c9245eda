#include "layout/names/card_files.hpp"

#include "catch.hpp"
#include "layout/names/file_table.hpp"
#include "refused.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

using Numbers = std::vector<std::uint64_t>;

const char* const megatron = R"("files": [{"path": "mp_{tp:02}.h5", "prefix": "module/"},
                                          {"path": "zero_{dp}_{tp}.h5", "prefix": "module/opt/"},
                                          {"path": "common.h5"}], "default": "replicate")";

Layout shared(const std::string& more = "") {
  return layout(R"(["dp", "tp"])", "[2, 3]", megatron + more);
}

std::string refusal_of(const Layout& of, const std::vector<Tensor>& tensors) {
  return refused([&] { resolve_target(of, tensors); }, Kind::layout);
}

}  // namespace

TEST_CASE("a file is an entry at a position that is 0 on the axes which the path does not name") {
  const Layout of = shared();
  const CardFiles& files = of.files;
  REQUIRE(files.count(of.mesh) == 3 + 6 + 1);
  const auto all = files.files(of.mesh);
  REQUIRE(all.size() == files.count(of.mesh));
  CHECK(all[2] == CardFiles::File{0, 2});
  CHECK(all[3] == CardFiles::File{1, 0});
  CHECK(all[7] == CardFiles::File{1, 4});
  CHECK(all[9] == CardFiles::File{2, 0});
  const FileTable table(of);
  CHECK(table.owned_by(0) == Numbers{0, 3, 9});
  CHECK(table.owned_by(2) == Numbers{2, 5});
  CHECK(table.owned_by(4) == Numbers{7});
  std::size_t owned = 0;
  for (Position position = 0; position < of.mesh.size(); ++position)
    for (const auto number : table.owned_by(position)) {
      CHECK(all[number].position == position);
      ++owned;
    }
  CHECK(owned == all.size());
  CHECK(files.path(of.mesh, 4, 0) == "mp_01.h5");
  CHECK(files.path(of.mesh, 4, 1) == "zero_1_1.h5");
  CHECK(files.shared_axes(of.mesh, 0) == std::vector<std::size_t>{0});
  CHECK(files.shared_axes(of.mesh, 1).empty());
  CHECK_FALSE(files.is_one_each(of.mesh));
  const Layout plain = layout(R"(["dp", "tp"])", "[2, 3]", "");
  CHECK(plain.files.is_one_each(plain.mesh));
  CHECK(plain.files.count(plain.mesh) == 6);
  CHECK(FileTable(plain).owned_by(4) == Numbers{4});
}

TEST_CASE("a table gives what the files of a layout are, at once") {
  const Layout of = shared();
  const FileTable table(of);
  const auto paths = of.files.paths(of.mesh);
  REQUIRE(table.count() == of.files.count(of.mesh));
  REQUIRE(paths.size() == table.count());
  for (FileNumber file = 0; file < table.count(); ++file) {
    CHECK(of.files.files(of.mesh)[file] == CardFiles::File{table.entry(file), table.owner(file)});
    CHECK(paths[file] == of.files.path(of.mesh, table.owner(file), table.entry(file)));
  }
  for (Position card = 0; card < of.mesh.size(); ++card) {
    Numbers owned;
    for (FileNumber file = 0; file < table.count(); ++file)
      if (table.owner(file) == card) owned.push_back(file);
    CHECK(table.owned_by(card) == owned);
    for (std::size_t entry = 0; entry < of.files.entries().size(); ++entry)
      CHECK(paths[table.of(card, entry)] == of.files.path(of.mesh, card, entry));
  }
}

TEST_CASE("a name lies in the entry of the longest prefix that it begins with") {
  const CardFiles files = shared().files;
  CHECK(files.entry_of("module/w") == 0);
  CHECK(files.entry_of("module/opt/w") == 1);
  CHECK(files.entry_of("step") == 2);
  CHECK(files.name_within("module/opt/m/w") == "m/w");
  CHECK(files.stored_name(1, "m/w") == "module/opt/m/w");
  CHECK_THROWS_WITH(files.stored_name(0, "opt/w"), Contains("called \"module/opt/w\" with its file's prefix") &&
                                                       Contains("puts that name into \"zero_{dp}_{tp}.h5\""));
  const Layout of = shared();
  CHECK(of.files.place(of.mesh, 4, "module/w") == "mp_01.h5: /w");
}

TEST_CASE("what lies in a file that cards share is held once, at coordinate 0") {
  const Layout of =
      shared(R"(, "parameters": [{"name": "module/w", "split": ["tp"]}, {"name": "module/opt/*", "split": ["dp"]}])");
  const Placement placement = target(of, {tensor("module/w", {3}), tensor("module/opt/m", {4}), tensor("step", {})});
  CHECK(shown(placement, "module/w") == Words{"0", "1", "2", "absent", "absent", "absent"});
  CHECK(shown(placement, "module/opt/m") == Words{"0 1", "0 1", "0 1", "2 3", "2 3", "2 3"});
  CHECK(shown(placement, "step") == Words{"0", "absent", "absent", "absent", "absent", "absent"});
  const CardArrays first = card({array("module/w", {1}), array("module/opt/m", {2})});
  const CardArrays second = card({array("module/opt/m", {2})});
  CHECK(resolve_source(of, {first, first, first, second, second, second}).placement.tensors()[1].shape == Shape{3});
  try {
    resolve_source(of, {first, first, second, second, second, second});
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Contains("mp_02.h5: /w: parameter 'module/w' is missing"));
  }
}

TEST_CASE("a parameter must not be split over an axis along which its file is shared") {
  CHECK_THAT(
      refusal_of(shared(R"(, "parameters": [{"name": "module/w", "split": ["dp"]}])"), {tensor("module/w", {4})}),
      Contains("parameter 'module/w'") &&
          Contains("it is cut over \"dp\", which the path of its files, "
                   "\"mp_{tp:02}.h5\", does not name") &&
          Contains("name the axis in the path: {dp}"));
  CHECK_THAT(refusal_of(shared(R"(, "parameters": [{"name": "module/w", "flat": {"axis": "dp"}}])"),
                        {tensor("module/w", {4})}),
             Contains("it is cut over \"dp\""));
  CHECK_THAT(
      refusal_of(
          shared(R"(, "buckets": [{"name": "module/b", "axis": "dp", "members": [{"name": "a", "shape": [4]}]}])"),
          {tensor("a", {4})}),
      Contains("it is cut over \"dp\""));
  CHECK_THAT(
      refusal_of(shared(R"(, "parameters": [{"name": "module/w", "at": {"dp": 1}}])"), {tensor("module/w", {4})}),
      Contains("at, indices and files leave it no card on axis \"dp\""));
}

TEST_CASE("a single template may leave axes out, too") {
  const Layout of = layout(R"(["dp", "tp"])", "[2, 2]", R"("files": "{tp}.h5", "default": "replicate")");
  CHECK(shown(target(of, {tensor("w", {2})}), "w") == Words{"0 1", "0 1", "absent", "absent"});
}

TEST_CASE("a name that no prefix begins is refused where it would be written") {
  const Layout of =
      layout(R"(["dp"])", "[2]", R"("files": [{"path": "{card}", "prefix": "m/"}], "default": "replicate")");
  CHECK_THAT(refusal_of(of, {tensor("w", {2})}), Contains("would be stored as \"w\"") && Contains("prefix"));
  CHECK(refusal_of(of, {tensor("m/w", {2})}) == "");
  CHECK(refusal_of(shared(), {tensor("module/a", {1}), tensor("module/a/b", {1})}) == "");  // the format may
  CHECK(refusal_of(shared(), {tensor("module/opt", {1}), tensor("module/opt/b", {1})}) == "");
}
