#include <fstream>
#include <iterator>
#include <limits>

#include "catch.hpp"
#include "contracts/memory_store.hpp"
#include "contracts/store_contract.hpp"
#include "store/stores.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using namespace ckpt::contract;

namespace {

namespace fs = std::filesystem;

/// A format whose files lie in the file system.
StoreUnderTest on_disk(const Format& format, const fs::path& folder) {
  return {std::string(format.name),
          [make = format.make] { return make(std::numeric_limits<std::uint64_t>::max()); },
          folder,
          std::string(format.ending),
          [](const fs::path& file) {
            std::ifstream in(file, std::ios::binary);
            return std::string(std::istreambuf_iterator<char>(in), {});
          },
          [](const fs::path& file, const std::string& bytes) {
            std::ofstream out(file, std::ios::binary);
            out << bytes;
          }};
}

StoreUnderTest in_memory(std::uint64_t slice_bytes) {
  const auto files = std::make_shared<MemoryFiles>();
  return {"memory, slices of " + std::to_string(slice_bytes) + " bytes",
          [=] { return std::make_unique<MemoryStore>(files, slice_bytes); },
          "/somewhere",
          ".memory",
          [=](const fs::path& file) { return files->find(file)->bytes(); },
          [=](const fs::path& file, const std::string& bytes) { files->put(file, bytes); }};
}

/// Runs a case over every store.
void check_all(void (*promise)(const StoreUnderTest&)) {
  const fixture::TemporaryDirectory folder;
  std::vector<StoreUnderTest> stores{in_memory(0), in_memory(40)};
  for (const Format& format : formats()) {
    if (!format.index_name.empty() || !format.is_written) continue;  // no file by itself is read and written
    fs::create_directory(folder / std::string(format.name));
    stores.push_back(on_disk(format, folder / std::string(format.name)));
  }
  for (const StoreUnderTest& store : stores) DYNAMIC_SECTION(store.name) {
      promise(store);
    }
}

}  // namespace

TEST_CASE("a store keeps what it is given") {
  check_all(keeps_what_it_is_given);
}
TEST_CASE("a store keeps trees or has none") {
  check_all(keeps_trees_or_has_none);
}
TEST_CASE("a store holds each type or refuses it") {
  check_all(holds_each_type_or_refuses_it);
}
TEST_CASE("a store holds each shape") {
  check_all(holds_each_shape);
}
TEST_CASE("a store holds each name or refuses it") {
  check_all(holds_each_name_or_refuses_it);
}
TEST_CASE("a store keeps each value or names it") {
  check_all(keeps_each_value_or_names_it);
}
TEST_CASE("a store holds very many arrays") {
  check_all(holds_very_many_arrays);
}
TEST_CASE("a store shares what files say") {
  check_all(shares_what_files_say);
}
TEST_CASE("a store holds no array") {
  check_all(holds_no_array);
}
TEST_CASE("a store makes the same bytes again") {
  check_all(makes_the_same_bytes_again);
}
TEST_CASE("a store sums what is no data") {
  check_all(sums_what_is_no_data);
}
TEST_CASE("a store keeps the data of an interrupted run") {
  check_all(keeps_data_of_an_interrupted_run);
}
TEST_CASE("a store reads any part") {
  check_all(reads_any_part);
}
TEST_CASE("a store refuses truncated files") {
  check_all(refuses_truncated_files);
}
TEST_CASE("a store survives lying files") {
  check_all(survives_lying_files);
}
TEST_CASE("a store refuses files that changed") {
  check_all(refuses_files_that_changed);
}
TEST_CASE("a store recognises its own files") {
  check_all(recognises_its_own_files);
}
TEST_CASE("a store looks at paths") {
  check_all(looks_at_paths);
}
