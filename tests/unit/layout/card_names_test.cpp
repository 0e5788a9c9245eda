#include "layout/names/card_names.hpp"

#include "catch.hpp"
#include "layout/names/file_table.hpp"
#include "layout/names/naming.hpp"
#include "refused.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

const char* const grouped = R"("files": [{"path": "all.h5", "prefix": "rank_{card}/"}], "default": "replicate")";

Layout parted(const std::string& stored, const std::string& files) {
  return layout(R"(["dp", "tp"])", "[2, 2]",
                R"("files": ")" + files + R"(", "default": "replicate", "rename": [{"stored": ")" + stored +
                    R"(", "name": "{x}"}])");
}

std::string stored(const Layout& of, Position position, const std::string& name) {
  const auto found = CardNames(of).of_card({0, position}, name);
  return found ? found->stored : "of another";
}

}  // namespace

TEST_CASE("a card's own array has a name that is alike on all cards") {
  const Layout of = parted("{x}/part_{tp}", "rank_{card}.h5");
  CHECK(stored(of, 0, "w/part_0") == "w/part_{tp}");
  CHECK(stored(of, 3, "w/part_1") == "w/part_{tp}");
  CHECK(stored(of, 3, "b") == "b");
  CHECK(Naming(of).renamed("w/part_{tp}") == "w");
  CHECK(of.files.place(of.mesh, 3, "w/part_{tp}") == "rank_3.h5: /w/part_1");
  CHECK(stored(parted("{x}/part_{tp:02}", "{card}"), 1, "w/part_01") == "w/part_{tp:02}");
  CHECK(stored(parted("{x}@{card}", "{card}"), 2, "a/b@2") == "a/b@{card}");
}

TEST_CASE("of a file that cards share by their names each has its part, and what says no coordinate is held once") {
  const Layout of = parted("{x}/part_{tp}", "all.h5");
  CHECK(of.files.count(of.mesh) == 2);  // for each tp, at dp=0
  CHECK(FileTable(of).owned_by(1).size() == 1);
  CHECK(FileTable(of).owned_by(2).empty());
  CHECK(stored(of, 0, "w/part_1") == "of another");
  CHECK(stored(of, 1, "w/part_1") == "w/part_{tp}");
  CHECK(stored(of, 0, "b") == "b");
  CHECK(stored(of, 1, "b") == "of another");
  const Layout groups = layout(R"(["tp"])", "[2]", grouped);
  CHECK(stored(groups, 1, "rank_1/a/w") == "rank_{card}/a/w");
  CHECK(stored(groups, 1, "rank_0/a/w") == "of another");
  CHECK(stored(groups, 1, "step") == "of another");
  CHECK(Naming(groups).renamed("rank_{card}/a/w") == "a/w");
}

TEST_CASE("numbers that no card has, and other cards' in a card's own file, are refused") {
  const auto said = [](const Layout& of, const std::string& name) {
    return refused([&] { CardNames(of).of_card({0, 1}, name); });
  };
  CHECK_THAT(said(parted("{x}/part_{tp}", "all.h5"), "w/part_2"),
             Contains("all.h5: /w/part_2") && Contains("tp=2") && Contains("0 to 1"));
  CHECK_THAT(said(parted("{x}/part_{tp}", "all.h5"), "w/part_99999999999999999999"), Contains("0 to 1"));
  CHECK_THAT(said(parted("{x}/part_{tp}", "rank_{card}.h5"), "w/part_0"), Contains("is each card's file its own?"));
  CHECK_THAT(said(parted("{x}/part_{tp}", "all.h5"), "w/part_01"), Contains("{tp:0N}"));
}

TEST_CASE("layouts with such names come back from their text, and are not written") {
  for (const Layout& of : {parted("{x}/part_{tp:02}", "all.h5"), layout(R"(["tp"])", "[2]", grouped)}) {
    const Layout again = parse_layout(to_json(of), "again.json");
    CHECK(to_json(again) == to_json(of));
    CHECK(again.files.count(again.mesh) == of.files.count(of.mesh));
    CHECK_THAT(refused([&] { resolve_target(of, {tensor("w", {4})}); }, Kind::layout), Contains("only read"));
    const Layout other = on_mesh(of, {}, "other");
    CHECK(first_card_name(other).empty());
    CHECK(other.files.is_one_each(other.mesh));
    CHECK_NOTHROW(resolve_target(other, {tensor("w", {4})}));
  }
}

TEST_CASE("what stands in braces of a prefix, and on one side of a rename, is a coordinate") {
  const auto said = [](const std::string& more) {
    return refused([&] { layout(R"(["tp"])", "[2]", more); }, Kind::layout);
  };
  CHECK_THAT(said(R"("files": [{"path": "a", "prefix": "r{pp}/"}])"), Contains("{card}, {tp}"));
  CHECK_THAT(said(R"("files": [{"path": "a", "prefix": "r{tp"}])"), Contains("{card}, {tp}"));
  CHECK_THAT(said(R"("rename": [{"stored": "w{pp}", "name": "w"}])"), Contains("{card}, {tp}"));
  CHECK_THAT(said(R"("rename": [{"stored": "w", "name": "w{tp}"}])"), Contains("capture {tp}"));
  CHECK_THAT(said(R"("rename": [{"stored": "w{tp:3}", "name": "w"}])"), Contains("{card:05}"));
  // On both sides it is a capture.
  const Layout of = layout(R"(["tp"])", "[2]", R"("rename": [{"stored": "w{tp}", "name": "v{tp}"}])");
  CHECK(CardNames(of).empty());
  CHECK(Naming(of).renamed("w5") == "v5");
}
