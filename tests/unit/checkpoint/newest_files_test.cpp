#include "checkpoint/newest_files.hpp"

#include "catch.hpp"
#include "refused.hpp"

using namespace ckpt;

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
  CHECK_THAT(newest.said, Contains("passed over: rank_0/n-0_99.ckpt, rank_0/n-1_9.ckpt"));
}

TEST_CASE("What is passed over is said, on whichever card it is") {
  const auto said = [](const Names& names, const Names& others = {}) {
    return newest_name(text, mesh, names, others).said;
  };
  CHECK(said({{"n-1_9.ckpt"}, {"n-1_9.ckpt"}}).empty());
  CHECK_THAT(said({{"n-1_9.ckpt"}, {"n-1_9.ckpt", "n-1_8.ckpt"}}), Contains("passed over: rank_1/n-1_8.ckpt"));
  CHECK_THAT(said({{"n-1_9.ckpt"}, {"n-1_9.ckpt", "best.ckpt"}}), Contains("passed over: rank_1/best.ckpt"));
  CHECK_THAT(said({{"n-1_9.ckpt"}, {"n-1_9.ckpt"}}, {{"n-1_8.safetensors"}, {}}),
             Contains("passed over: rank_0/n-1_8.safetensors"));
}

TEST_CASE("Names that do not tell are refused") {
  const auto said = [](const Names& names) { return fixture::refused([&] { newest_name(text, mesh, names); }); };
  CHECK_THAT(said({{"a.ckpt", "b.ckpt"}, {"a.ckpt", "b.ckpt"}}), Contains("several checkpoints") && Contains("a.ckpt"));
  CHECK_THAT(said({{"a-1_2.ckpt", "b-1_3.ckpt"}, {"a-1_2.ckpt", "b-1_3.ckpt"}}), Contains("several checkpoints"));
  // One card has another that is newer, as new, or of another series, whose numbers say nothing.
  CHECK_THAT(said({{"n-1_9.ckpt"}, {"n-1_9.ckpt", "n-1_10.ckpt"}}),
             Contains("rank_1/n-1_10.ckpt") && Contains("beside n-1_9.ckpt"));
  CHECK_THAT(said({{"CKP-1_10.ckpt"}, {"CKP-1_10.ckpt", "CKP_1-1_10.ckpt"}}), Contains("rank_1/CKP_1-1_10.ckpt"));
  CHECK_THAT(said({{"CKP-1_10.ckpt"}, {"CKP-1_10.ckpt", "CKP_1-1_5.ckpt"}}), Contains("rank_1/CKP_1-1_5.ckpt"));
  CHECK_THAT(said({{"n-1_10.ckpt", "n-01_10.ckpt"}, {"n-1_10.ckpt", "n-01_10.ckpt"}}), Contains("several checkpoints"));
  CHECK_THAT(fixture::refused([] {
               newest_name(text, mesh, Names{{"n-1_9.ckpt"}, {"n-1_9.ckpt"}}, Names{{}, {"n-1_10.safetensors"}});
             }),
             Contains("rank_1/n-1_10.safetensors"));
  CHECK_THAT(said({{"a.ckpt"}, {}}), Contains("rank_1/") && Contains("no such file"));
  CHECK_THAT(said({{"a.ckpt"}, {"b.ckpt"}}), Contains("no name that all cards have"));
}

}  // namespace
