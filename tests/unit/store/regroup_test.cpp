#include "store/paddle/regroup.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "refused.hpp"
#include "store/paddle/lines.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;

namespace {

using Texts = std::vector<std::string>;  // by shard
using Model = std::map<std::uint64_t, std::string>;

const RowFields& row_fields() {
  static const RowFields fields({AccessorClass::sparse, 2, SgdRule::naive, SgdRule::naive});
  return fields;
}

/// Lines by key, of both lengths, with keys up to 2^64 - 1 and numbers that Paddle would not write in this way.
Model random_lines(std::mt19937_64& random, std::size_t count) {
  Model lines;
  while (lines.size() < count) {
    const std::uint64_t key = random() >> (random() % 64);
    lines[key] = std::to_string(key) + " 1 2 3 4 5 0.50" + (key % 3 ? "" : " 1e0 -0.0") + "\n";
  }
  return lines;
}

Texts saved(const Model& lines, std::uint64_t shards) {
  Texts texts(shards);
  for (const auto& [key, line] : lines) texts[key % shards] += line;
  return texts;
}

/// Each group by itself, source after source, in pieces of some bytes.
Texts regrouped(const Texts& from, std::uint64_t shards) {
  Texts to(shards);
  const Regrouping plan(from.size(), shards);
  for (std::uint64_t group = 0; group < plan.groups(); ++group) {
    const auto targets = plan.targets(group);
    for (const auto source : plan.sources(group)) {
      ShardReader reader(row_fields(), {source, from.size()});
      const std::string_view text = from[source];
      for (std::size_t at = 0; at < text.size(); at += 37)
        reader.feed(text.substr(at, 37), [&](std::string_view line, const CheckedLine& row) {
          const auto target = plan.target_of(row.key);
          if (!std::binary_search(targets.begin(), targets.end(), target)) FAIL(target << " is of another group");
          to[target] += line;
        });
      reader.finish();
    }
  }
  return to;
}

Texts sorted_lines(const Texts& texts) {
  Texts lines;
  for (const auto& text : texts)
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      lines.push_back(text.substr(at, text.find('\n', at) + 1 - at));
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

TEST_CASE("lines go untouched to the shards that their keys say") {
  std::mt19937_64 random(11);
  for (const auto& [from, to] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {10, 15}, {15, 10}, {10, 10}, {7, 1}, {1, 7}, {37, 10}, {8, 64}, {64, 8}, {1000, 1024}}) {
    const auto lines = random_lines(random, 300);
    const auto source = saved(lines, from);
    const auto target = regrouped(source, to);
    REQUIRE(target.size() == to);
    const auto expected = saved(lines, to);
    for (std::uint64_t shard = 0; shard < to; ++shard)
      CHECK(sorted_lines({target[shard]}) == sorted_lines({expected[shard]}));
    CHECK(sorted_lines(regrouped(target, from)) == sorted_lines(source));
  }
}

TEST_CASE("the same number of shards leaves their bytes as they are") {
  std::mt19937_64 random(12);
  const auto source = saved(random_lines(random, 100), 10);
  CHECK(regrouped(source, 10) == source);
}

TEST_CASE("groups have each shard once") {
  const Regrouping plan(10, 15);
  CHECK(plan.groups() == 5);
  CHECK(plan.sources(3) == std::vector<std::uint64_t>{3, 8});
  CHECK(plan.targets(3) == std::vector<std::uint64_t>{3, 8, 13});
  CHECK(Regrouping(1000, 1024).groups() == 8);
  CHECK_THAT(fixture::refused([] { Regrouping(0, 4); }, Kind::layout), Contains("shard_num: 0"));
  CHECK_THAT(fixture::refused([] { Regrouping(4, 0); }, Kind::layout), Contains("shard_num: 0"));
}
