#include "catch.hpp"
#include "compare/compare_workload.hpp"
#include "compare/content_search.hpp"
#include "compare/replicas.hpp"
#include "unit/memory_move.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

/// A checkpoint over four cards, with its manifest.
struct Sharded {
  explicit Sharded(std::uint64_t slice_bytes = 40, const Layout& cut_by = four_cards())
      : memory(slice_bytes), layout(cut_by) {
    make_whole(memory, "/in/whole");
    cut = std::make_unique<Move>(memory, "/in/whole", single_card(), layout);
    cut->whole();
    manifest = parse_manifest({cut->manifest(), "checkpoint.json", "checkpoint.json", true});
  }

  std::vector<Damage> search() {
    const Checkpoint checkpoint = memory.open(cut->place(), layout);
    const auto resolved = resolve_source(layout, checkpoint.card_arrays());
    Traffic traffic;
    return search_contents({checkpoint, resolved.placement, manifest, memory.stores, 4, 1 << 20, 2}, *memory.alone,
                           traffic);
  }

  /// Where in a card's file a byte of an array lies.
  std::uint64_t place(Position card, const std::string& array, std::uint64_t byte) {
    const auto schema = memory.stores.named("memory").catalog(cut->file(card)).schema;
    const FileExtent extent = schema->datasets.at(schema->find(array)).extents.at(byte);
    return extent.offset + (byte - extent.start);
  }

  Memory memory;
  Layout layout;
  std::unique_ptr<Move> cut;
  Manifest manifest;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("what is as it was written has no damage") {
  CHECK(Sharded(0).search().empty());
  CHECK(Sharded(40).search().empty());
}

TEST_CASE("a changed byte is found with the file and the parameter that it is in") {
  Sharded sharded;
  sharded.memory.damage(sharded.cut->file(2), sharded.place(2, "c", 70));
  const auto damages = sharded.search();
  REQUIRE(damages.size() == 1);
  CHECK(damages[0].what == Damage::What::content);
  CHECK(damages[0].file == sharded.cut->file(2).filename());
  CHECK(damages[0].parameters == Names{"c"});
}

TEST_CASE("a byte between the extents of an array is the file's, and no parameter's") {
  Sharded sharded;
  sharded.memory.damage(sharded.cut->file(1), sharded.place(1, "c", 40) - 1);
  const auto damages = sharded.search();
  REQUIRE(damages.size() == 1);
  CHECK(damages[0].file == sharded.cut->file(1).filename());
  CHECK(damages[0].parameters.empty());
}

TEST_CASE("of a card's several files the damaged one is named, with what lies in it") {
  Sharded sharded(0, two_files_each());
  CHECK(sharded.search().empty());
  const fs::path optim = sharded.cut->place() / "mp_01/optim_1";
  sharded.memory.damage(optim, sharded.memory.files->find(optim)->bytes().size() - 1);
  const auto damages = sharded.search();
  REQUIRE(damages.size() == 1);
  CHECK(damages[0].file == "mp_01/optim_1");
  for (const std::string& name : damages[0].parameters) CHECK(name != "a");

  const fs::path zero = sharded.cut->place() / "mp_00/model";
  const fs::path one = sharded.cut->place() / "mp_01/model";
  const std::string bytes = sharded.memory.files->find(zero)->bytes();
  REQUIRE(bytes.size() == sharded.memory.files->find(one)->bytes().size());
  sharded.memory.files->put(one, bytes);
  const auto more = sharded.search();
  REQUIRE(more.size() == 2);
  CHECK(more[0].file == "mp_01/model");
  CHECK(more[0].parameters == std::vector<std::string>{"a"});
}

TEST_CASE("files in one another's place are told from damaged ones") {
  Sharded sharded;
  const std::string one = sharded.memory.files->find(sharded.cut->file(1))->bytes();
  const std::string three = sharded.memory.files->find(sharded.cut->file(3))->bytes();
  sharded.memory.files->put(sharded.cut->file(1), three);
  sharded.memory.files->put(sharded.cut->file(3), one);
  const auto damages = sharded.search();
  REQUIRE(damages.size() == 2);
  for (const Damage& damage : damages) CHECK(damage.what == Damage::What::swapped);
  CHECK(damages[0].detail == sharded.cut->file(3).filename());
}

TEST_CASE("cards that should hold the same and do not are named") {
  Sharded sharded;
  const auto compared = [&](const auto& compare) {
    const Checkpoint checkpoint = sharded.memory.open(sharded.cut->place(), four_cards());
    const auto resolved = resolve_source(four_cards(), checkpoint.card_arrays());
    SourceReader reader(checkpoint, resolved.placement, sharded.memory.stores.reading(), 1 << 20, 4);
    const std::vector<bool> all(resolved.placement.tensors().size(), true);
    return compare(ReplicatedFiles{checkpoint, resolved.placement, reader, {}, all, ReplicaCheck::full, 2});
  };
  const auto check = [&] {
    return compared([&](const ReplicatedFiles& files) {
      try {
        check_replicas(files, *sharded.memory.alone);
      } catch (const Error& error) {
        return std::string(error.what());
      }
      return std::string();
    });
  };
  const auto differing = [&] {
    return compared([&](const ReplicatedFiles& files) {
      Names names;
      for (const Error& error : differing_replicas(files, *sharded.memory.alone)) names.push_back(error.parameter());
      return names;
    });
  };
  CHECK(check().empty());
  CHECK(differing().empty());
  sharded.memory.damage(sharded.cut->file(3), sharded.place(3, "c", 0));  // held once
  CHECK(check().empty());
  sharded.memory.damage(sharded.cut->file(3), sharded.place(3, "a", 20));  // held by card 1, too
  CHECK_THAT(check(), Contains("parameter 'a'"));
  CHECK(differing() == Names{"a"});
  sharded.memory.damage(sharded.cut->file(0), sharded.place(0, "b", 8));  // held by card 2, too
  CHECK_THAT(check(), Contains("parameter 'a'"));
  CHECK(differing() == Names{"a", "b"});
}

TEST_CASE("two checkpoints are the same, but for the elements that differ") {
  Sharded a(40);
  const auto differing = [&] {
    Memory& memory = a.memory;
    const Checkpoint whole = memory.open("/in/whole", single_card());
    const Checkpoint sharded = memory.open(a.cut->place(), four_cards());
    const auto from = resolve_source(single_card(), whole.card_arrays());
    const auto to = resolve_source(four_cards(), sharded.card_arrays());
    const Readers readers(from.placement, {});
    std::vector<ParameterId> source_of;
    std::vector<ParameterId> parameters;
    for (ParameterId p = 0; p < to.placement.tensors().size(); ++p) {
      source_of.push_back(from.placement.find(to.placement.tensors()[p].name).value());
      if (!to.placement.tensors()[p].verbatim) parameters.push_back(p);
    }
    const Planner planner(from.placement, to.placement, source_of, readers);
    SourceReader reader(whole, from.placement, memory.stores.reading(), 1 << 20, 4);
    const ComparedPair pair{planner,    readers,      reader, sharded, memory.stores.reading(),
                            parameters, {0, 1, 2, 3}, {},     2};
    const auto exchange = direct_exchange(*memory.alone, {1 << 16, 2, 0, {}});
    Traffic traffic;
    CompareWorkload work(pair, 64, ChunkOrder::in_step, 0, traffic);
    exchange->run(work);
    std::vector<std::pair<std::string, std::uint64_t>> found;
    for (const auto& [parameter, mismatch] : work.found())
      found.emplace_back(to.placement.tensors()[parameter].name, mismatch.count);
    return found;
  };
  using Found = std::vector<std::pair<std::string, std::uint64_t>>;
  CHECK(differing() == Found{});
  a.memory.damage(a.cut->file(0), a.place(0, "c", 3));
  a.memory.damage(a.cut->file(0), a.place(0, "c", 41));
  a.memory.damage(a.cut->file(2), a.place(2, "b", 1));
  CHECK(differing() == Found{{"b", 1}, {"c", 2}});
}
