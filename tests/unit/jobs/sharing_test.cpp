#include <map>
#include <set>

#include "catch.hpp"
#include "jobs/summary.hpp"
#include "output/file_workload.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

std::vector<Chunk> all(ChunkSequence sequence) {
  std::vector<Chunk> chunks;
  while (const auto chunk = sequence.next()) chunks.push_back(*chunk);
  return chunks;
}

}  // namespace

TEST_CASE("in step, the first piece of each card's file comes before the second of any") {
  const Placement placement =
      target(one_rule(R"(["x"])", "[3]", R"("split": ["x"], "uneven": "ceil")"), {tensor("a", {7}), tensor("b", {3})});
  const auto order = [&](ChunkSequence sequence) {
    std::string text;
    for (const Chunk& chunk : all(std::move(sequence)))
      text += placement.arrays()[chunk.array].name + std::to_string(chunk.card) + ":" +
              std::to_string(chunk.elements.lo) + "-" + std::to_string(chunk.elements.hi) + " ";
    return text;
  };
  const ChunkSequence one_behind_the_other(placement, {0, 2, 1}, 8);
  CHECK(order(one_behind_the_other) == "a0:0-2 a2:0-1 a1:0-2 a0:2-3 a1:2-3 b0:0-1 b2:0-1 b1:0-1 ");
  ChunkSequence as_they_lie(placement, {0, 2, 1}, 15);  // cut at multiples of 8
  as_they_lie.take_places([](Position, ArrayId array, std::uint64_t byte) {
    return ChunkSequence::Place{0, (array == 0 ? 4 : 16) + byte};
  });
  CHECK(order(as_they_lie) == "a0:0-1 a2:0-1 a1:0-1 a0:1-3 a1:1-3 b0:0-1 b2:0-1 b1:0-1 ");
  CHECK(all(one_behind_the_other)[0].bytes == 8);
}

TEST_CASE("cards that have more before an array take it when the others do; files come one after the other, too") {
  const Layout of = layout(R"(["x"])", "[3]",
                           R"("parameters": [{"name": "a", "at": {"x": 1}}, {"name": "b", "split": ["x"]},
                                             {"name": "c", "split": ["x"]}])");
  const Placement placement = target(of, {tensor("a", {40}), tensor("b", {48}), tensor("c", {6})});
  ChunkSequence sequence(placement, {0, 1, 2}, 32);
  sequence.take_places([](Position, ArrayId array, std::uint64_t byte) {
    return ChunkSequence::Place{array, byte};  // each array has a file of its own
  });
  std::string order;
  for (const Chunk& chunk : all(std::move(sequence)))
    order += placement.arrays()[chunk.array].name + std::to_string(chunk.card) + " ";
  CHECK(order == "a1 a1 a1 a1 a1 b0 b1 b2 b0 b1 b2 c0 c1 c2 ");
}

TEST_CASE("by tensor, small arrays come in step") {
  const Placement placement = target(one_rule(R"(["x"])", "[2]", R"("split": ["x"])"),
                                     {tensor("a", {4}), tensor("b", {6}), tensor("c", {1 << 16}), tensor("d", {2})});
  std::string order;
  for (const Chunk& chunk : all(ChunkSequence(placement, {1, 0}, 1 << 20, ChunkOrder::by_tensor)))
    order += placement.arrays()[chunk.array].name + std::to_string(chunk.card) + " ";
  CHECK(order == "a1 b1 a0 b0 c0 c1 d1 d0 ");
}

TEST_CASE("a sequence that has ended stays at its end") {
  const Placement placement = target(one_rule(R"(["x"])", "[2]", R"("split": ["x"])"), {tensor("w", {8})});
  for (const ChunkOrder order : {ChunkOrder::in_step, ChunkOrder::by_tensor}) {
    ChunkSequence sequence(placement, {0, 1}, 64, order);
    while (sequence.next()) {
    }
    for (int i = 0; i < 3; ++i) CHECK_FALSE(sequence.next());
  }
}

TEST_CASE(
    "chunks end where the file's pieces or their arrays do, and fit into memory in the form in which they are cast") {
  constexpr std::uint64_t piece = 1 << 16;
  const Placement placement =
      target(one_rule(R"(["x"])", "[3]", R"("split": ["x"], "uneven": "balanced")"),
             {tensor("a", {301, 77}), tensor("b", {5}), tensor("c", {99'999}), tensor("d", {7, 1234})});
  const std::uint64_t cell = GENERATE(4, 8, 12);
  const auto place = [](Position card, ArrayId array, std::uint64_t byte) {
    return 512 + 64 * card + array * (1 << 20) + byte;
  };
  ChunkSequence sequence(placement, {2, 0, 1}, piece + 100);
  sequence.take_places([&](Position card, ArrayId array, std::uint64_t byte) {
    return ChunkSequence::Place{0, place(card, array, byte)};
  });
  sequence.take_cells(std::vector<std::uint64_t>(4, cell));
  std::map<std::pair<Position, ArrayId>, std::uint64_t> done;
  for (const Chunk& chunk : all(std::move(sequence))) {
    std::uint64_t& before = done[{chunk.card, chunk.array}];
    CHECK(chunk.elements.lo == before);
    before = chunk.elements.hi;
    CHECK(chunk.bytes == chunk.elements.size() * cell);
    CHECK(chunk.bytes <= piece + 100);
    const std::uint64_t lo = place(chunk.card, chunk.array, chunk.elements.lo * 4);
    const std::uint64_t hi = place(chunk.card, chunk.array, chunk.elements.hi * 4);
    CHECK(lo / piece == (hi - 1) / piece);
    if (cell == 4)
      CHECK((hi % piece == 0 || hi == place(chunk.card, chunk.array, placement.stored_bytes(chunk.array, chunk.card))));
  }
  for (const auto& [of, elements] : done) CHECK(elements * 4 == placement.stored_bytes(of.second, of.first));
  CHECK(done.size() == 12);
}

TEST_CASE("by tensor, chunks of all cards come in the order of their elements in it") {
  const auto order = [](const std::string& split) {
    const Placement placement = target(one_rule(R"(["x"])", "[2]", R"("split": )" + split), {tensor("w", {8, 8})});
    std::string text;
    for (const Chunk& chunk : all(ChunkSequence(placement, {1, 0}, 64, ChunkOrder::by_tensor)))
      text += std::to_string(chunk.card) + ":" + std::to_string(chunk.elements.lo) + " ";
    return text;
  };
  CHECK(order(R"(["x"])") == "0:0 0:16 1:0 1:16 ");
  CHECK(order(R"([null, "x"])") == "0:0 1:0 0:16 1:16 ");
}

TEST_CASE("cards without an array, empty arrays and strings have no chunks") {
  const Layout of =
      layout(R"(["x"])", "[2]", R"("parameters": [{"name": "here", "at": {"x": 1}}], "default": "replicate")");
  Tensor note = tensor("note", {});
  note.verbatim = true;
  const Placement placement = target(of, {tensor("here", {4}), tensor("empty", {0, 3}), note});
  CHECK(all(ChunkSequence(placement, {0}, 1 << 20)).empty());
  CHECK(all(ChunkSequence(placement, {0, 1}, 1 << 20)).size() == 1);
  CHECK(all(ChunkSequence(placement, {}, 1 << 20)).empty());
}

TEST_CASE("files are shared out in blocks of about equal bytes; small ones each to one writer") {
  const Layout of = layout(R"(["x"])", "[5]",
                           R"("parameters": [{"name": "w", "split": ["x"], "sizes": {"0": [60, 10, 20, 30, 0]}}])");
  const Placement placement = target(of, {tensor("w", {120})});
  const auto owners = [&](std::uint32_t processes) {
    const WriteShares shares(placement, processes);
    std::vector<std::uint32_t> found;
    for (Position card = 0; card < 5; ++card) {
      found.push_back(shares.owner(card));
      CHECK(shares.writers(card).size() == 1);
    }
    return found;
  };
  CHECK(owners(1) == std::vector<std::uint32_t>(5, 0));
  CHECK(owners(2) == std::vector<std::uint32_t>{0, 1, 1, 1, 1});  // in blocks: 60 and 60 elements
  const auto many = owners(9);
  CHECK(std::set<std::uint32_t>(many.begin(), many.end()).size() == 5);  // nobody has two while others have none
  CHECK(many.front() == 0);
}

TEST_CASE("large files are cut, so that every process writes about as much, and each element once") {
  constexpr std::uint64_t mib = 1 << 18;  // elements
  const auto check = [](const Placement& placement, std::uint32_t processes) {
    const WriteShares shares(placement, processes);
    std::vector<std::uint64_t> written(processes, 0);
    std::uint64_t sum = 0;
    for (Position card = 0; card < placement.mesh().size(); ++card)
      for (ArrayId array = 0; array < placement.arrays().size(); ++array) {
        std::uint64_t next = 0;
        for (std::uint32_t process = 0; process < processes; ++process) {
          const Interval part = shares.of(process, card, array);
          if (part.empty()) continue;
          CHECK(part.lo == next);
          CHECK((part.lo == 0 || part.lo % mib == 0));
          next = part.hi;
          written[process] += part.size();
          const auto cards = shares.written_by(process);
          CHECK(std::count(cards.begin(), cards.end(), card) == 1);
          const auto writers = shares.writers(card);
          CHECK(std::count(writers.begin(), writers.end(), process) == 1);
        }
        CHECK(next * 4 == placement.stored_bytes(array, card));
        sum += next;
      }
    const std::uint64_t most = *std::max_element(written.begin(), written.end());
    CHECK(double(most) <= 1.05 * double(sum) / processes + double(mib));
    for (std::uint32_t process = 0; process < processes; ++process) {
      ChunkSequence sequence(placement, shares.written_by(process), 4 << 20);
      sequence.take_share(shares, process);
      std::uint64_t elements = 0;
      for (const Chunk& chunk : all(std::move(sequence))) elements += chunk.elements.size();
      CHECK(elements == written[process]);
    }
  };
  const std::vector<Tensor> tensors{tensor("a", {3 * mib}), tensor("b", {64, mib}), tensor("c", {7}),
                                    tensor("d", {100 * mib + 3})};
  const Layout merged = layout(R"(["x"])", "[1]", R"("default": "replicate")");
  const Layout split =
      layout(R"(["x"])", "[7]", R"("parameters": [{"name": "*", "split": ["x"], "uneven": "balanced"}])");
  for (const std::uint32_t processes : {1U, 2U, 3U, 7U, 8U, 40U}) {
    check(target(merged, tensors), processes);
    check(target(split, tensors), processes);
  }
  const Placement one = target(merged, tensors);
  const WriteShares whole(one, 4, false);
  CHECK(whole.writers(0).size() == 1);
  CHECK(whole.written_by(3).empty());
}

TEST_CASE("process 0 begins a file however little each process writes of it") {
  for (const std::uint64_t size : {1U << 18, 3U << 18, 3U << 20})  // of 4 bytes
    for (const std::uint32_t processes : {2U, 8U, 40U}) {
      const Placement one = target(one_rule(R"(["x"])", "[1]", R"("split": [])"), {tensor("w", {size})});
      const WriteShares shares(one, processes, true);
      CHECK(shares.owner(0) == 0);
      CHECK(!shares.of(0, 0, 0).empty());
    }
}

TEST_CASE("processes write near what their hosts read") {
  using Order = std::vector<std::uint32_t>;
  CHECK(order_by_hosts({}, {}, {0, 1, 0, 1}) == Order{0, 1, 2, 3});
  CHECK(order_by_hosts({0, 1, 2, 3}, {1, 1, 1, 1}, {0, 0, 0, 0}) == Order{0, 1, 2, 3});
  CHECK(order_by_hosts({0, 2, 1, 3}, {1, 1, 1, 1}, {0, 1, 0, 1}) == Order{0, 2, 1, 3});  // ranks dealt out host by host
  CHECK(order_by_hosts({1, 1, 0, 0}, {1, 1, 1, 1}, {0, 1}) == Order{1, 0});  // the later half lies on the first host
  CHECK(order_by_hosts({1, 1}, {1, 1}, {0, 1, 2, 1}) == Order{1, 3, 0, 2});  // hosts without data come last
  // Cards without a file of their own weigh nothing.
  CHECK(order_by_hosts({0, 1, 1, 1, 1, 0, 0, 0}, {9, 0, 0, 0, 9, 0, 0, 0}, {0, 1}) == Order{0, 1});

  const Placement placement = target(one_rule(R"(["x"])", "[4]", R"("split": ["x"])"), {tensor("w", {8})});
  const WriteShares shares(placement, Order{2, 0, 1}, true);
  CHECK(shares.owner(0) == 2);
  CHECK(shares.owned_by(2) == std::vector<Position>{0, 1});
  CHECK(shares.of(2, 0, 0).size() == 2);
  CHECK(shares.of(0, 0, 0).empty());
  for (Position card = 0; card < 4; ++card) {
    std::uint64_t elements = 0;
    for (const std::uint32_t writer : shares.writers(card)) elements += shares.of(writer, card, 0).size();
    CHECK(elements == 2);
  }
}

TEST_CASE("a plan in figures") {
  const Placement source = target(one_rule(R"(["x"])", "[2]", R"("split": ["x"])"), {tensor("w", {8})});
  const Placement wanted = target(one_rule(R"(["x"])", "[4]", R"("split": ["x"])"), {tensor("w", {8})});
  const Readers readers(source, {0, 1});
  const Planner planner(source, wanted, {0}, readers);
  Report report;
  summarise({planner, readers, WriteShares(wanted, 2), {}}, report);
  CHECK(report.bytes_to_write == 32);
  CHECK(report.bytes_to_read == 32);
  CHECK(report.bytes_changing_card == 24);  // card 0 keeps two elements, card 1's come from card 0
  CHECK(report.busiest_process == 0);
  CHECK(report.busiest_process_bytes == 16 + 16);  // writes two files, reads one
}

TEST_CASE("each rule is shown with what it decided") {
  using Names = std::vector<InternedText>;
  const Layout of = layout(R"(["x"])", "[1]",
                           R"("parameters": [{"name": "*.w"}, {"name": "no"}], "default": "replicate",
                              "buckets": [{"name": "flat", "axis": "x", "members": [{"name": "m", "shape": [1]}]}])");
  const auto use = rule_use(target(of, {tensor("a.w", {1}), tensor("b.w", {1}), tensor("m", {1}), tensor("z", {1})}));
  REQUIRE(use.size() == 4);
  CHECK(use[0].rule == "*.w");
  CHECK(use[0].parameters == Names{"a.w", "b.w"});
  CHECK(use[1].parameters.empty());
  CHECK(use[2].rule == "bucket flat");
  CHECK(use[2].parameters == Names{"m"});
  CHECK(use[3].rule == "(default)");
  CHECK(use[3].parameters == Names{"z"});
}

TEST_CASE("small arrays that follow one another come card by card, large ones by themselves") {
  const Layout of =
      layout(R"(["x"])", "[2]", R"("parameters": [{"name": "c", "split": ["x"]}], "default": "replicate")");
  const Placement placement = target(of, {tensor("a", {2}), tensor("b", {3}), tensor("c", {1 << 20}), tensor("d", {4}),
                                          tensor("e", {0}), tensor("f", {5})});
  std::string order;
  for (const Chunk& chunk : all(ChunkSequence(placement, {1, 0}, 1 << 20)))
    order += placement.arrays()[chunk.array].name + std::to_string(chunk.card) + " ";
  CHECK(order == "a1 b1 a0 b0 c1 c0 c1 c0 d1 f1 d0 f0 ");
}
