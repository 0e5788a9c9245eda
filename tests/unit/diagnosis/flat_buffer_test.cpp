#include "diagnosis/draft/flat_buffer.hpp"

#include <cstring>
#include <numeric>

#include "catch.hpp"

using namespace ckpt;
using namespace ckpt::drafting;

namespace {

DType i16() {
  return *number_type("i16");
}

/// Two cards with the numbers from 0 on.
struct Numbers final : CardData {
  void read(Position card, const std::string&, Interval elements, std::span<std::byte> out) override {
    std::vector<std::int16_t> run(elements.size());
    std::iota(run.begin(), run.end(), static_cast<std::int16_t>(card * 5 + elements.lo));
    std::memcpy(out.data(), run.data(), out.size());
  }
};

std::string bytes_of(const std::vector<std::int16_t>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(std::int16_t)};
}

}  // namespace

TEST_CASE("beginnings are found across the borders of pieces, once each, but not those of one repeated element") {
  const StoredArray five{"b", i16(), {5}, std::nullopt, false};
  const StoredArray three{"b", i16(), {3}, std::nullopt, false};
  const NameFacts facts{"b", "b", {{&five, 1}, {&three, 2}}, false};
  Numbers data;
  const FlatBuffer buffer(facts, {0, 1}, data);
  CHECK(buffer.size() == 8);
  const std::vector<Beginning> wanted{{"a", bytes_of({0, 1})}, {"b", bytes_of({4, 5, 6})}, {"c", bytes_of({4, 5, 7})},
                                      {"d", bytes_of({6, 7})}, {"e", bytes_of({7, 8})},    {"f", bytes_of({3, 3})}};
  CHECK(find_beginnings(buffer, 2, wanted) == std::map<std::string, std::uint64_t>{{"a", 0}, {"b", 4}, {"d", 6}});
}
