#include "checkpoint/file_views.hpp"

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

const SeenFile none;

SeenFile file(std::uint64_t bytes, std::int64_t modified_ns = 0) {
  return {bytes, modified_ns};
}

NamedFiles named(std::size_t cards) {
  NamedFiles names{[](FileNumber file) { return "rank_" + std::to_string(file) + ".h5"; }, {}};
  for (FileNumber file = 0; file < cards; ++file) names.of_card.push_back({file});
  return names;
}

MergedView together(const std::vector<std::vector<SeenFile>>& seen) {
  std::vector<FileView> views;
  for (const auto& files : seen) views.push_back({"node" + std::to_string(views.size()), files});
  return merge_views(views, named(seen.front().size()));
}

}  // namespace

TEST_CASE("each file goes to the least loaded of those that see it") {
  const MergedView found = together({{file(10), none, file(30), file(5)}, {none, file(20), file(30), file(5)}});
  CHECK(found.owners == Owners{0, 1, 0, 1});
  CHECK(found.files == std::vector<SeenFile>{file(10), file(20), file(30), file(5)});
  CHECK(found.warning.empty());
}

TEST_CASE("what nobody sees stays so") {
  const MergedView found = together({{file(1), none}, {none, none}});
  CHECK(found.files == std::vector<SeenFile>{file(1), none});
}

TEST_CASE("of files with different times the newest is read, whoever sees it, and that is said") {
  constexpr std::int64_t step_1000 = 1'700'000'000'000'000'000;
  constexpr std::int64_t step_2000 = step_1000 + 3'600'000'000'005;
  for (const bool first_is_stale : {true, false}) {
    const SeenFile stale = file(100, step_1000);
    const SeenFile fresh = file(100, step_2000);
    const MergedView found = first_is_stale ? together({{stale, stale}, {fresh, fresh}, {none, fresh}})
                                            : together({{none, fresh}, {fresh, fresh}, {stale, stale}});
    CHECK(found.files == std::vector<SeenFile>{fresh, fresh});
    CHECK(found.owners == (first_is_stale ? Owners{1, 2} : Owners{1, 0}));
    CHECK_THAT(found.warning,
               Contains("of rank_0.h5 process 1 (node1) sees the version of 2023-11-14 23:13:20.000000005 "
                        "UTC, process " +
                        std::string(first_is_stale ? "0 (node0)" : "2 (node2)") +
                        " sees the version of 2023-11-14 22:13:20.000000000 UTC"));
    CHECK_THAT(found.warning, Contains("(and so with 1 more): only the newest is read"));
    const Error error = differing_versions("rank_0.h5", found.differing.at(0));
    CHECK(error.may_pass());
    CHECK_THAT(error.what(), Contains("rank_0.h5: process 1 (node1) sees the version of ") &&
                                 Contains(first_is_stale ? ", process 0 (node0) sees" : ", process 2 (node2) sees"));
  }
}

TEST_CASE("files with different sizes are an error that names both") {
  try {
    together({{none}, {file(100, 2)}, {file(90, 1)}});
    FAIL("no Error");
  } catch (const Error& error) {
    CHECK(error.kind() == Kind::input);
    CHECK_THAT(error.what(),
               Contains("rank_0.h5: process 1 (node1) sees 100 bytes and process 2 (node2) sees 90 bytes"));
  }
}

TEST_CASE("a card's files go together to one that sees them all") {
  NamedFiles names = named(4);
  names.of_card = {{0, 2}, {1, 3}, {}};
  const std::vector<FileView> views{{"a", {file(10), file(20), none, file(5)}},
                                    {"b", {file(10), none, file(30), none}}};
  const MergedView found = merge_views(views, names);
  CHECK(found.owners == Owners{1, 0, 0});
  names.of_card = {{1, 2}};
  CHECK_THROWS_WITH(merge_views(views, names), Contains("rank_1.h5: no process sees it together with the other files "
                                                        "of its card (rank_1.h5, rank_2.h5)"));
}

TEST_CASE("a process alone sees what it sees") {
  const auto alone = single_process();
  const MergedView found = merge_views({file(1, 2), none}, named(2), *alone);
  CHECK(found.owners.empty());
  CHECK(found.files == std::vector<SeenFile>{file(1, 2), none});
}

TEST_CASE("a text that some processes have is theirs only if it is one") {
  CHECK(agreed_text({"", "a", "", "a"}, "the layout", *single_process()).empty() == false);
  CHECK(agreed_text({"", ""}, "the layout", *single_process()).empty());
  CHECK_THROWS_WITH(agreed_text({"", "a", "b"}, "the layout", *single_process()),
                    Contains("the layout: process 1 and process 2 see different ones"));
}
