#include "output/journal.hpp"

#include <fstream>

#include "catch.hpp"
#include "output/job_description.hpp"
#include "plan/finished.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

JournalRecord record(std::uint64_t n) {
  return {n, n + 1, {n * 10, n * 10 + 7}, {n * n, ~n, 28}};
}

std::vector<std::byte> content(const std::filesystem::path& file) {
  const PosixFile journal = PosixFile::open_for_reading(file);
  std::vector<std::byte> bytes(journal.status().bytes);
  journal.read(0, bytes);
  return bytes;
}

}  // namespace

TEST_CASE("a journal gives back what was noted, from all processes and all runs") {
  const TemporaryDirectory directory;
  const std::filesystem::path place = directory / "";
  for (const int process : {0, 1, 0}) {
    Journal journal(place, process);
    journal.note(record(static_cast<std::uint64_t>(process)), 1);
    journal.note(record(5), 1);
  }
  std::ofstream(place / "job") << "no records";
  CHECK(read_journal(place).size() == 6);
  CHECK(read_journal(place, 0, 2).size() == 4);
  CHECK(read_journal(place, 1, 2) == std::vector{record(1), record(5)});
  CHECK(read_journal(place, 2, 3).empty());
  CHECK(parse_journal(content(place / "1")) == std::vector{record(1), record(5)});
}

TEST_CASE("records reach the file when enough data has been written, not when the program ends") {
  const TemporaryDirectory directory;
  const std::filesystem::path place = directory / "";
  Journal journal(place, 3);
  journal.note(record(1), 3 << 20);
  CHECK(content(place / "3").empty());
  journal.note(record(2), 2 << 20);
  CHECK(parse_journal(content(place / "3")).size() == 2);
}

TEST_CASE("damaged and half-written records are left out, and the next run writes behind the last whole one") {
  const TemporaryDirectory directory;
  const std::filesystem::path place = directory / "";
  for (std::uint64_t n = 0; n < 3; ++n) Journal(place, 0).note(record(n), 1);
  const auto whole = content(place / "0");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto damaged = whole;
    damaged[i] ^= std::byte{4};
    const auto found = parse_journal(damaged);
    REQUIRE(found.size() == 2);
    for (const JournalRecord& each : found) CHECK(each.card != i / 64);
  }
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(parse_journal(std::span(whole).first(size)).size() == size / 64);
  PosixFile::open_for_writing(place / "0").resize(whole.size() - 10);
  Journal(place, 0).note(record(9), 1);
  CHECK(parse_journal(content(place / "0")) == std::vector{record(0), record(1), record(9)});
}

TEST_CASE("another job is refused, and told in what it is another one") {
  const std::string job =
      R"({"version": "1", "to": {"mesh": 1}, "kept": {}, "files": {"rank_0.h5": [10, 20], "rank_1.h5": [1, 2]}})";
  CHECK_NOTHROW(check_same_job(job, job, "o.partial"));
  const auto refused = [&](const std::string& earlier, const std::string& why) {
    CHECK_THROWS_WITH(check_same_job(earlier, job, "o.partial"), Contains("o.partial: ") && Contains(why));
  };
  refused(R"({"version": "1", "to": {"mesh": 1}, "kept": {}, "files": {"rank_0.h5": [10, 20], "rank_1.h5": [1, 3]}})",
          "before rank_1.h5 changed");
  refused(R"({"version": "1", "to": {"mesh": 2}, "files": {"rank_0.h5": [10, 20], "rank_1.h5": [1, 2]}})",
          "another target layout");
  refused(R"({"version": "1", "to": {"mesh": 1}, "kept": {}, "files": {"rank_0.h5": [10, 20]}})", "other source files");
  refused(R"({"version": "0", "to": {"mesh": 1}})", "another version");
  refused(R"({"version": "1", "to": {"mesh": 1}, "kept": {"a": ["show >= 1", ""]},
              "files": {"rank_0.h5": [10, 20], "rank_1.h5": [1, 2]}})",
          "other rows to keep");
  const std::string numbers = R"({"version": "1", "dequantised": [{"dtype": "f32", "config": ["gptq", "gptq"]}]})";
  CHECK_THROWS_WITH(
      check_same_job(R"({"version": "1", "dequantised": [{"dtype": "f32", "config": ["gptq", "gptq_v2"]}]})", numbers,
                     "o.partial"),
      Contains("another --dequantize"));
  refused("", "another job");
  refused("[1, 2", "another job");
  refused(R"({"files": 3})", "another version");
}

TEST_CASE("what is finished is left out, whatever the pieces") {
  Finished finished;
  CHECK(finished.empty());
  CHECK(finished.add(1, 2, {10, 20}));
  CHECK(finished.add(1, 2, {20, 25}));
  CHECK(finished.add(1, 2, {40, 50}));
  CHECK_FALSE(finished.add(1, 2, {10, 20}));
  CHECK_FALSE(finished.add(1, 2, {24, 26}));
  CHECK_FALSE(finished.add(1, 2, {0, 100}));
  CHECK_FALSE(finished.add(1, 2, {45, 46}));
  CHECK(finished.rest(1, 3, {0, 60}) == std::vector<Interval>{{0, 60}});
  CHECK(finished.rest(1, 2, {0, 60}) == std::vector<Interval>{{0, 10}, {25, 40}, {50, 60}});
  CHECK(finished.rest(1, 2, {15, 45}) == std::vector<Interval>{{25, 40}});
  CHECK(finished.rest(1, 2, {11, 24}).empty());
  CHECK(finished.rest(1, 2, {25, 30}) == std::vector<Interval>{{25, 30}});
}
