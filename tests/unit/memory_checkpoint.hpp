#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "contracts/memory_store.hpp"
#include "processes/communicator.hpp"
#include "store/stores.hpp"
#include "temporary_directory.hpp"
#include "unit/layout/resolve_fixture.hpp"

// Checkpoints in memory: made, and read.
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
