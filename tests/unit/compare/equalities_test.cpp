#include "compare/equalities.hpp"

#include <bit>

#include "catch.hpp"
#include "refused.hpp"
#include "unit/memory_move.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

const Shape matrix{6, 10};

/// Numbers that bfloat16 has, and their bits there, which are the upper half of a float's.
template <class Element>
std::vector<Element> elements() {
  std::vector<Element> all;
  for (std::uint64_t i = 0; i < numel(matrix); ++i) {
    const auto value = static_cast<float>(i);
    if constexpr (sizeof(Element) == 4)
      all.push_back(value);
    else
      all.push_back(static_cast<Element>(std::bit_cast<std::uint32_t>(value) >> 16));
  }
  return all;
}

/// Master copies `m` and `n` of `w`, a count and a text with their copies, whole in one file, and then on four cards.
struct Masters {
  Masters() : memory(40) {
    FileSpec spec;
    const auto add = [&](const char* name, const char* type, const Shape& shape) {
      spec.arrays.push_back({name, *number_type(type), shape, {}, std::nullopt, std::nullopt});
    };
    add("m", "f32", matrix);
    add("n", "f32", matrix);
    add("w", "bf16", matrix);
    add("count", "i64", {});
    add("number", "f32", {});
    for (const char* const text : {"notes", "text"})
      spec.arrays.push_back({text, text_type(), {}, {}, std::nullopt, text_value("one and the same")});
    Store& store = memory.stores.named("memory");
    const FileRoom room = store.create("/in/whole", spec);
    const auto target = store.open_to_fill("/in/whole", room);
    const auto floats = elements<float>();
    const auto halves = elements<std::uint16_t>();
    write(*target, room.data[0], std::as_bytes(std::span(floats)));
    write(*target, room.data[1], std::as_bytes(std::span(floats)));
    write(*target, room.data[2], std::as_bytes(std::span(halves)));
  }

  static void write(TargetFile& file, const FileExtents& data, std::span<const std::byte> bytes) {
    std::vector<Interval> places;
    data.append_to(places);
    for (const Interval place : places) {
      file.write(place.lo, bytes.first(place.size()));
      bytes = bytes.subspan(place.size());
    }
  }

  Layout layout(const std::string& more) const {
    return fixture::layout(R"(["r", "x"])", "[2, 2]",
                           R"("parameters": [{"name": ["m", "n"], "split": [null, "x"], "equals": "w"}, )" + more +
                               R"({"name": "w", "split": ["r"]}], "default": "replicate")");
  }

  /// What the check says of these cards.
  std::string check(const Layout& cut, ReplicaCheck extent = ReplicaCheck::sample) {
    if (!move) {
      move = std::make_unique<Move>(memory, "/in/whole", single_card(), cut);
      move->whole();
    }
    const Checkpoint checkpoint = memory.open(move->place(), cut);
    const auto resolved = resolve_source(cut, checkpoint.card_arrays());
    const Readers readers(resolved.placement, {});
    SourceReader reader(checkpoint, resolved.placement, memory.stores.reading(), 1 << 20, 4);
    const auto exchange = direct_exchange(*memory.alone, {1 << 16, 2, 0, {}});
    return refused([&] {
      const std::vector<bool> all(resolved.placement.tensors().size(), true);
      check_equalities({{checkpoint, resolved.placement, reader, {}, all, extent},
                        readers,
                        memory.stores.reading(),
                        resolved.placement.equalities(),
                        2},
                       *exchange, *memory.alone);
    });
  }

  /// Changes an element of an array on one of the cards.
  void damage(Position card, const std::string& array, std::uint64_t element, std::uint64_t bytes) {
    const auto schema = memory.stores.named("memory").catalog(move->file(card)).schema;
    const std::uint64_t byte = element * bytes + bytes - 1;
    const FileExtent extent = schema->datasets.at(schema->find(array)).extents.at(byte);
    memory.damage(move->file(card), extent.offset + (byte - extent.start));
  }

  Memory memory;
  std::unique_ptr<Move> move;
};

}  // namespace

TEST_CASE("values that are the same but for their dtype are equal, however either is cut") {
  Masters masters;
  for (const ReplicaCheck extent : {ReplicaCheck::trust, ReplicaCheck::sample, ReplicaCheck::full})
    CHECK(masters.check(masters.layout(""), extent).empty());
}

TEST_CASE("an element that differs is named with both parameters, by its place in the whole tensor") {
  Masters masters;
  const Layout layout = masters.layout("");
  REQUIRE(masters.check(layout).empty());
  for (const Position card : {1, 3}) masters.damage(card, "n", 2 * 5 + 3, 4);  // row 2, column 5 + 3, on both copies
  for (const ReplicaCheck extent : {ReplicaCheck::sample, ReplicaCheck::full})
    CHECK_THAT(masters.check(layout, extent), Contains("parameter 'n': it \"equals\" 'w'") &&
                                                  Contains("in 1 element of those compared, first at [2, 8]: ") &&
                                                  Contains(" beside 28, expected the same values, rounded to bf16"));
  CHECK(masters.check(layout, ReplicaCheck::trust).empty());
  for (const Position card : {2, 3}) masters.damage(card, "w", 0, 2);  // the first of the second half's rows, of both
  CHECK_THAT(masters.check(layout), Contains("parameter 'm'") && Contains("first at [3, 0]: 30 beside ") &&
                                        Contains("so it is with n; do a bucket's members"));
}

TEST_CASE("what has no elements of fixed size is passed over, and what cannot be rounded refused") {
  Masters masters;
  CHECK(masters.check(masters.layout(R"({"name": "notes", "equals": "text"}, )")).empty());
  CHECK_THAT(masters.check(masters.layout(R"({"name": "number", "equals": "count"}, )")),
             Contains("parameter 'number': it is f32, and 'count', which it \"equals\", i64"));
}
