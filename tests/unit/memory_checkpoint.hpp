#pragma once

#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "contracts/memory_store.hpp"
#include "exchange/exchange.hpp"
#include "output/file_workload.hpp"
#include "plan/chunk_sequence.hpp"
#include "store/stores.hpp"
#include "temporary_directory.hpp"
#include "unit/layout/resolve_fixture.hpp"

// Checkpoints in memory: made, moved into another layout by the parts that a job is made of, and read.
namespace ckpt::fixture {

namespace fs = std::filesystem;

/// Files in memory and the stores that see them.
class Memory {
 public:
  /// New arrays lie in slices of so many bytes; 0: whole.
  explicit Memory(std::uint64_t slice_bytes = 0) : stores(of(files, slice_bytes)) {}

  std::shared_ptr<contract::MemoryFiles> files = std::make_shared<contract::MemoryFiles>();
  Stores stores;
  std::unique_ptr<Communicator> alone = single_process();

  Checkpoint open(const fs::path& path, const Layout& layout) {
    return Checkpoint::open({path, layout}, stores.reading(), *alone);
  }
  /// Changes one byte of a file.
  void damage(const fs::path& file, std::uint64_t offset) {
    std::string bytes = files->find(file)->bytes();
    bytes.at(offset) = static_cast<char>(bytes.at(offset) ^ 4);
    files->put(file, std::move(bytes));
  }

 private:
  static std::vector<Format> of(const std::shared_ptr<contract::MemoryFiles>& files, std::uint64_t slice_bytes) {
    const auto make = [=](std::uint64_t) { return std::make_unique<contract::MemoryStore>(files, slice_bytes); };
    return {{.name = "memory", .ending = ".mem", .make = make}};
  }
};

/// Some tensors with random bytes, whole in one file.
inline void make_whole(Memory& memory, const fs::path& file) {
  FileSpec spec;
  const auto add = [&](const char* name, const char* type, const Shape& shape) {
    spec.arrays.push_back({name, *number_type(type), shape, {}, std::nullopt, std::nullopt});
  };
  add("a", "f32", {5, 7});
  add("b", "bf16", {33});
  add("c", "f64", {4, 3, 10});
  add("step", "i64", {});
  add("empty", "f32", {0, 7});
  spec.arrays.push_back({"notes", text_type(), {}, {}, std::nullopt, text_value("what was done")});
  spec.arrays[0].attributes = {{"unit", text_value("m")}};
  spec.attributes = {{"framework", text_value("none")}};
  Store& store = memory.stores.named("memory");
  const FileRoom room = store.create(file, spec);
  const auto target = store.open_to_fill(file, room);
  std::mt19937 dice(7);
  for (const FileExtents& data : room.data) {
    std::vector<Interval> places;
    data.append_to(places);
    for (const Interval place : places) {
      std::vector<std::byte> bytes(place.size());
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(dice());
      target->write(place.lo, bytes);
    }
  }
}

/// A checkpoint that is moved into another layout, step by step as a job does it.
class Move {
 public:
  Move(Memory& memory, const fs::path& source, const Layout& from, const Layout& to)
      : memory_(memory),
        checkpoint_(memory.open(source, from)),
        source_(resolve_source(from, checkpoint_.card_arrays()).placement),
        target_(resolve_target(to, source_.tensors()).placement),
        readers_(source_, {}),
        planner_(source_, target_, up_to<ParameterId>(source_.tensors().size()), readers_),
        casts_(planner_),
        output_({directory_ / "out"}),
        cards_(up_to<Position>(target_.mesh().size())),
        reader_(checkpoint_, source_, memory.stores.reading(), 1 << 20, 8),
        shares_(target_, 1),
        files_(checkpoint_, planner_, memory.stores.named("memory"),
               {&output_, nullptr, false, FingerprintPlace::manifest}, shares_, 0, 2),
        sums_(target_) {
    output_.plan(to, {}, memory.stores.named("memory"));
    output_.claim();
    output_.begin("{}", false);
    files_.check_format();
  }

  /// All of it: what is then in `place` is the checkpoint.
  Move& whole() {
    create(false);
    fill();
    return *this;
  }
  void create(bool is_resumed) {
    make_files(is_resumed);
    files_.add_the_rest(sums_);
  }
  void make_files(bool is_resumed) { files_.create(is_resumed, 2, memory_.stores.reading()); }
  void fill() {
    const auto exchange = direct_exchange(*memory_.alone, {1 << 16, 2, 0, {}});
    FileWorkload work({planner_, casts_, readers_, reader_, files_, 0, traffic_, &sums_}, chunks());
    exchange->run(work);
  }

  fs::path place() const { return output_.partial(); }
  fs::path file(Position card) const { return output_.file(target_.layout().files.path(target_.mesh(), card)); }
  const Placement& target() const { return target_; }
  TargetFiles& files() { return files_; }
  const ContentSums& sums() const { return sums_; }
  ChunkSequence chunks() const {
    ChunkSequence chunks = files_.chunks(200);
    files_.cut_where_they_lie(chunks);
    return chunks;
  }
  std::string manifest() { return ckpt::manifest(target_, files_.list(&sums_), sums_.of_parameters(*memory_.alone)); }

 private:
  template <class Number>
  static std::vector<Number> up_to(std::uint64_t count) {
    std::vector<Number> numbers(count);
    std::iota(numbers.begin(), numbers.end(), Number{0});
    return numbers;
  }

  Memory& memory_;
  TemporaryDirectory directory_;
  Checkpoint checkpoint_;
  Placement source_;
  Placement target_;
  Readers readers_;
  Planner planner_;
  ChunkCasts casts_;
  Output output_;
  std::vector<Position> cards_;
  SourceReader reader_;
  WriteShares shares_;
  TargetFiles files_;
  ContentSums sums_;
  Traffic traffic_;
};

/// Four cards: `a` and `b` cut and padded over two of them, `c` over all four, the rest on each.
inline const Layout& four_cards() {
  static const Layout layout = fixture::layout(
      R"(["r", "x"])", "[2, 2]",
      R"("parameters": [{"name": "a", "split": [null, "x"], "pad": {"1": {"size": 7, "multiple_of": 4}}},
                        {"name": "b", "split": ["x"], "pad": {"0": {"size": 33, "multiple_of": 2}}},
                        {"name": "c", "split": ["r", null, "x"]}],
         "default": "replicate")");
  return layout;
}

/// Two of tp by two of dp, with two files each: `a` and `b` in one that is shared along dp, the rest in one of each
/// card.
inline const Layout& two_files_each() {
  static const Layout layout =
      fixture::layout(R"(["tp", "dp"])", "[2, 2]",
                      R"("files": [{"path": "mp_{tp:02}/model", "prefix": "model/"}, {"path": "mp_{tp:02}/optim_{dp}"}],
         "parameters": [{"name": "a", "split": [null, "tp"], "pad": {"1": {"size": 7}}}, {"name": "c", "split": ["tp", null, "dp"]}],
         "rename": [{"stored": "model/a", "name": "a"}, {"stored": "model/b", "name": "b"}],
         "default": "replicate")");
  return layout;
}

}  // namespace ckpt::fixture
