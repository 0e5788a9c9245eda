#include "layout/tables/shard_files.hpp"

#include "refused.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

TEST_CASE("the files of a table by shard") {
  CHECK(shard_file_name(3, 789, true) == "part-003-00789.gz");
  CHECK(shard_file_name(1000, 100000, false) == "part-1000-100000");
  const std::vector<std::string> files{"part-000-00000", "part-000-00001.gz", "part-001-00002"};
  CHECK(shard_files({files[2], files[0], files[1]}, 3) == files);
}

TEST_CASE("files that Paddle would load as other shards are refused") {
  const auto message = [](std::vector<std::string> names, std::uint64_t shards) {
    return fixture::refused([&] { shard_files(names, shards); });
  };
  CHECK_THAT(message({"part-000-00000", "part-000-00001"}, 3), Contains("no file of shard 2"));
  CHECK_THAT(message({"part-000-00000", "part-000-00001"}, 1),
             Contains("part-000-00001: shard 1, expected one below shard_num, 1"));
  CHECK_THAT(message({"part-000-00001", "part-001-00001", "part-000-00000"}, 2),
             Contains("part-001-00001: shard 1 has the file part-000-00001 as well"));
  CHECK_THAT(message({"part-000-00000", "part-000-00000.gz"}, 1), Contains("as well"));
  for (const std::string stray : {"part-0-00000", "part-000-0", "part-000-00000.bz2", "part-000-00000x",
                                  "part--1-00000", "_SUCCESS", "part-000-", "part-000"})
    CHECK_THAT(message({stray}, 1), Contains(stray + ": no file of a shard"));
}
