#include "diagnosis/draft/card_parts.hpp"

#include <deque>

#include "catch.hpp"

using namespace ckpt;
using namespace ckpt::drafting;

namespace {

class Cards {
 public:
  explicit Cards(std::uint64_t count) : mesh_{{"tp"}, {count}, {}} {}

  /// A name that these cards store.
  Cards& add(const std::string& name, const std::vector<Position>& holders) {
    facts_.push_back({name, name, std::vector<drafting::Piece>(mesh_.size()), false});
    for (const Position position : holders) {
      arrays_.push_back({});
      arrays_.back().name = name;
      arrays_.back().shape = {2, 3};
      facts_.back().pieces[position].array = &arrays_.back();
    }
    return *this;
  }

  CardParts parts() const { return find_card_parts(facts_, mesh_); }
  std::string rename() const {
    const CardParts found = parts();
    return found.renames.empty() ? "none" : found.renames.front().of_card + " = " + found.renames.front().name.text();
  }

 private:
  Mesh mesh_;
  std::deque<StoredArray> arrays_;
  std::vector<NameFacts> facts_;
};

}  // namespace

TEST_CASE("names that number pieces are renamed where each card has those of its own number alone") {
  CHECK(Cards(2).add("w/part_0", {0}).add("w/part_1", {1}).add("b", {0, 1}).rename() == "{x}/part_{tp} = {x}");
  CHECK(Cards(2).add("rank_0/w", {0}).add("rank_1/w", {1}).rename() == "rank_{tp}/{x} = {x}");
  CHECK(Cards(2).add("a.shard_00.w", {0}).add("a.shard_01.w", {1}).rename() == "{x}.shard_{tp:02}.{y} = {x}.{y}");
}

TEST_CASE("other numbers stay parts of names") {
  CHECK(Cards(2).add("layers/0/w", {0}).add("layers/1/w", {1}).rename() == "none");
  CHECK(Cards(2).add("layer_0/w", {0}).add("layer_1/w", {1}).rename() == "none");
  CHECK(Cards(2).add("w/part_0", {0, 1}).add("w/part_1", {0, 1}).rename() == "none");
  CHECK(Cards(2).add("w/part_0", {1}).add("w/part_1", {0}).rename() == "none");
  CHECK(Cards(2).add("w/part_0", {0}).add("w/part_1", {1}).add("w", {0, 1}).rename() == "none");
  CHECK(Cards(3).add("w/part_0", {0}).add("w/part_1", {1}).rename() == "none");
}

TEST_CASE("in one file such names are left to the user") {
  const auto open = Cards(1).add("rank_0/w", {0}).add("rank_1/w", {0}).add("b", {0}).parts().open;
  REQUIRE(open.size() == 2);
  CHECK(open.begin()->second.candidates.front().find("rank_{tp}/{x}") != std::string::npos);
  CHECK(Cards(1).add("rank_1/w", {0}).add("rank_2/w", {0}).parts().open.empty());
}
