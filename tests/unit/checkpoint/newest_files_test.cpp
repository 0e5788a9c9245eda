#include "checkpoint/newest_files.hpp"

#include "catch.hpp"
#include "refused.hpp"

namespace ckpt {
namespace {

using Catch::Matchers::Contains;
using Names = std::vector<std::vector<std::string>>;

const Mesh mesh{{"a"}, {2}, {}};
const std::string text = "rank_{card}/*.ckpt";

TEST_CASE("The card's number in a name is told from numbers that only look like it") {
  CHECK(newest_name(text, mesh, Names{{"net_rank_0-1_10.ckpt"}, {"net_rank_1-1_10.ckpt"}}).path ==
        "rank_{card}/net_rank_{card}-1_10.ckpt");
  CHECK(newest_name(text, mesh, Names{{"net-1_1.ckpt"}, {"net-1_1.ckpt"}}).path == "rank_{card}/net-1_1.ckpt");
  CHECK(newest_name(text, {{"a"}, {1}, {}}, Names{{"net_0-0_0.ckpt"}}).path == "rank_{card}/net_0-0_0.ckpt");
  CHECK(newest_name(text, {{"a"}, {2}, {4, 5}}, Names{{"r4-5_4.ckpt"}, {"r5-5_4.ckpt"}}).path ==
        "rank_{card}/r{card}-5_4.ckpt");
}

TEST_CASE("The newest is that of the greatest epoch and step, as numbers, that all cards have") {
  const Names names{{"n-1_10.ckpt", "n-1_9.ckpt", "n-0_99.ckpt"}, {"n-0_99.ckpt", "n-1_9.ckpt", "n-1_10.ckpt"}};
  const NewestName newest = newest_name(text, mesh, names);
  CHECK(newest.path == "rank_{card}/n-1_10.ckpt");
  CHECK_THAT(newest.said, Contains("of 3 checkpoints") && Contains("n-1_10"));
  CHECK(newest.warning.empty());
  const NewestName older = newest_name(text, mesh, Names{{"n-1_9.ckpt"}, {"n-1_9.ckpt", "n-1_10.ckpt"}});
  CHECK(older.path == "rank_{card}/n-1_9.ckpt");
  CHECK_THAT(older.warning, Contains("card 1 has n-1_10.ckpt"));
}

TEST_CASE("Names that do not tell are refused") {
  const auto said = [](const Names& names) { return fixture::refused([&] { newest_name(text, mesh, names); }); };
  CHECK_THAT(said({{"a.ckpt", "b.ckpt"}, {"a.ckpt", "b.ckpt"}}), Contains("several checkpoints") && Contains("a.ckpt"));
  CHECK_THAT(said({{"a-1_2.ckpt", "b-1_3.ckpt"}, {"a-1_2.ckpt", "b-1_3.ckpt"}}), Contains("several checkpoints"));
  CHECK_THAT(said({{"a.ckpt"}, {}}), Contains("rank_1/") && Contains("no such file"));
  CHECK_THAT(said({{"a.ckpt"}, {"b.ckpt"}}), Contains("no name that all cards have"));
}

}  // namespace
}  // namespace ckpt
