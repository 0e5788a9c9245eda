#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "checkpoint/manifest.hpp"
#include "jobs/check.hpp"
#include "jobs/compare.hpp"
#include "jobs/reshard.hpp"
#include "refused.hpp"
#include "unit/memory_checkpoint.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

/// Whole jobs on files in memory; what is a directory's own (the lock, the manifest, the renaming) is on disk.
struct Jobs {
  explicit Jobs(std::uint64_t slice_bytes = 40) : memory(slice_bytes) {
    make_whole(memory, "/in/whole");
    first.source = {"/in/whole", std::nullopt};
    first.target.layout = four_cards();
    first.output.path = directory / "four";
    first.format = "memory";
  }

  Report run(const ReshardJob& job) {
    const Report report = reshard(job, memory.stores, *memory.alone, counters);
    if (!job.dry_run) memory.files->rename(job.output.path.string() + ".partial", job.output.path);
    return report;
  }
  CompareReport compared(const fs::path& b) {
    return compare({.a = first.source, .b = {b, std::nullopt}, .replicas = ReplicaCheck::full}, memory.stores,
                   *memory.alone, counters);
  }
  Integrity checked(const fs::path& checkpoint) {
    return check_integrity({{checkpoint, std::nullopt}, {}}, memory.stores, *memory.alone, counters);
  }
  /// Changes a byte of what a card holds of an array.
  void damage(const fs::path& file, const std::string& array) {
    const auto schema = memory.stores.named("memory").catalog(file).schema;
    memory.damage(file, schema->datasets.at(schema->find(array)).extents.at(5).offset);
  }

  TemporaryDirectory directory;
  Memory memory;
  Counters counters;
  ReshardJob first;
};

}  // namespace

TEST_CASE("a job moves a checkpoint to other cards and back, whatever store its files are in") {
  for (const std::uint64_t slice_bytes : {0, 40}) {
    Jobs jobs(slice_bytes);
    const Report report = jobs.run(jobs.first);
    CHECK(report.source_cards == 1);
    CHECK(report.target_cards == 4);
    CHECK(report.parameters == 6);
    CHECK(jobs.compared(jobs.first.output.path).differences.empty());
    CHECK(jobs.checked(jobs.first.output.path).damages.empty());

    ReshardJob back = jobs.first;
    back.source = {jobs.first.output.path, std::nullopt};
    back.target.layout = two_files_each();
    back.output.path = jobs.directory / "directories";
    back.verify = Verify::reread;
    CHECK(jobs.run(back).bytes_to_write > 0);
    CHECK(jobs.compared(back.output.path).differences.empty());
    CHECK(jobs.checked(back.output.path).damages.empty());
  }
}

TEST_CASE("a job writes one file into a pipe, and tells of its fingerprints in the report") {
  Jobs jobs(0);
  const fs::path end = jobs.directory / "end";
  const Fd pipe(::open(end.c_str(), O_WRONLY | O_CREAT, 0600));
  ReshardJob job = jobs.first;
  job.target.layout = single_card();
  job.output.path = "-";
  job.output.is_single_file = job.output.is_pipe = true;
  job.output.descriptor = pipe.get();
  const Report report = reshard(job, jobs.memory.stores, *jobs.memory.alone, jobs.counters);
  jobs.memory.files->put("/out", read_text(end));
  CHECK(jobs.compared("/out").differences.empty());
  const std::string carried = jobs.memory.stores.named("memory").catalog("/out").schema->manifest;
  CHECK(is_sealed(carried));
  CHECK(nlohmann::json::parse(carried).contains("fingerprints"));
  REQUIRE(is_sealed(report.manifest));
  const auto json = nlohmann::json::parse(report.manifest);
  CHECK(json["file"]["bytes"] == fs::file_size(end));
  CHECK(json["file"]["fingerprint"].get<std::string>().size() == 32);
  CHECK(json["parameters"]["a"]["fingerprint"].get<std::string>().size() == 32);

  Jobs sliced;  // parts of its files' arrays lie in another order
  sliced.first.target.layout = single_card();
  sliced.first.output = job.output;
  CHECK_THAT(refused([&] { reshard(sliced.first, sliced.memory.stores, *sliced.memory.alone, sliced.counters); }),
             Contains("standard output: an array's parts lie in another order"));
}

TEST_CASE("a dry run tells what would be moved, and makes nothing") {
  Jobs jobs;
  jobs.first.dry_run = true;
  const Report report = jobs.run(jobs.first);
  CHECK(report.bytes_to_read >= report.tensor_bytes);
  CHECK(report.bytes_to_write > report.tensor_bytes);  // padding, and what is on every card
  CHECK(report.bytes_written == 0);
  CHECK_FALSE(fs::exists(jobs.first.output.path));
  CHECK_FALSE(fs::exists(jobs.first.output.path.string() + ".partial"));
}

TEST_CASE("a changed byte is a difference, a damage, and the end of a job that compares replicas") {
  Jobs jobs;
  jobs.run(jobs.first);
  const fs::path four = jobs.first.output.path;
  jobs.damage(four / "rank_3.h5", "a");  // cards 1 and 3 hold the same of it
  const auto differences = jobs.compared(four).differences;
  REQUIRE(differences.size() == 1);
  CHECK(differences[0].parameter == "a");
  CHECK(differences[0].count == 1);
  CHECK(differences[0].cards == std::vector<std::uint64_t>{3});
  const auto damages = jobs.checked(four).damages;
  REQUIRE(damages.size() == 1);
  CHECK(damages[0].file == "rank_3.h5");
  CHECK(damages[0].parameters == std::vector<std::string>{"a"});

  ReshardJob next = jobs.first;
  next.source = {four, std::nullopt};
  next.target.layout = single_card();
  next.output.path = jobs.directory / "next";
  next.replicas = ReplicaCheck::full;
  CHECK_THAT(refused([&] { jobs.run(next); }), Contains("'a'"));
  CHECK_FALSE(fs::exists(next.output.path));
}

TEST_CASE("a job expects what it takes, under the names that it gives") {
  Jobs jobs;
  jobs.first.dry_run = true;
  jobs.first.expectation = Expectation{"/in/whole", {}};
  jobs.run(jobs.first);
  jobs.first.names.drop = {Pattern("c")};
  jobs.run(jobs.first);
  jobs.first.names.rename = {{Pattern("a"), Pattern("z")}};
  CHECK_THAT(refused([&] { jobs.run(jobs.first); }), Contains("2 parameters are not as whole has them"));
  jobs.first.expectation->allowances = {{Pattern("a")}, {Pattern("z")}};
  jobs.run(jobs.first);
  jobs.first.expectation->reference = "/in/nothing";
  CHECK_THAT(refused([&] { jobs.run(jobs.first); }, Kind::usage), Contains("/in/nothing: no such file"));
}

TEST_CASE("either side of a comparison, and what is checked, is held against a reference") {
  Jobs jobs;
  jobs.run(jobs.first);
  const fs::path four = jobs.first.output.path;
  ReshardJob less = jobs.first;
  less.names.drop = {Pattern("b")};
  less.output.path = jobs.directory / "less";
  jobs.run(less);
  const Expectation whole{"/in/whole", {}};
  const auto found = compare({.a = jobs.first.source,
                              .b = {less.output.path, std::nullopt},
                              .replicas = ReplicaCheck::full,
                              .expectation = whole},
                             jobs.memory.stores, *jobs.memory.alone, jobs.counters);
  CHECK(found.a_deviations.lines.empty());
  CHECK(found.b_deviations.lines == std::vector<std::string>{"b: missing, whole has it"});
  const auto deviations = [&](const fs::path& checkpoint) {
    return check_integrity({{checkpoint, std::nullopt}, {}, whole}, jobs.memory.stores, *jobs.memory.alone,
                           jobs.counters)
        .deviations.lines;
  };
  CHECK(deviations(four).empty());
  CHECK(deviations(less.output.path) == std::vector<std::string>{"b: missing, whole has it"});
}

TEST_CASE("a missing file is told of by every job") {
  Jobs jobs;
  jobs.run(jobs.first);
  const fs::path four = jobs.first.output.path;
  jobs.memory.files->remove(four / "rank_2.h5");
  CHECK_THAT(refused([&] { jobs.compared(four); }), Contains("rank_2.h5"));
  const auto damages = jobs.checked(four).damages;
  REQUIRE(damages.size() == 1);
  CHECK(damages[0].what == Damage::What::missing);
  CHECK(damages[0].file == "rank_2.h5");
}
