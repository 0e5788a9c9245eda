#include "keyed/duplicates.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "tensor/mix.hpp"

using namespace ckpt;

TEST_CASE("values that stand more than once are found among any number") {
  for (const std::size_t count : {0, 1, 2, 100, 8191, 8192, 100000}) {
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(mix(i));  // mix(0) is 0, which a set must hold as well
    const std::set<std::uint64_t> all(values.begin(), values.end());
    CHECK(repeated(values).empty());
    CHECK(std::set<std::uint64_t>(values.begin(), values.end()) == all);
    if (count < 2) continue;
    for (const std::uint64_t twice : {mix(0), mix(count - 1)}) values.push_back(twice);
    values.push_back(mix(0));
    auto found = repeated(values);
    std::sort(found.begin(), found.end());
    CHECK(found == std::vector<std::uint64_t>{mix(0), mix(count - 1)});
  }
}
