#include "report/report_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/limits.hpp"
#include "catch.hpp"
#include "fixtures.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Catch::Matchers::Contains;

TEST_CASE("the report is JSON with every fact of the run") {
  ReshardJob job;
  job.source.path = "src";
  job.output.path = "dst\xff";  // not UTF-8
  Report report;
  report.exchange = "mpi";
  report.processes = 3;
  report.bytes_written = 18446744073709551615ULL;
  report.seconds = {{"read", 0.5}, {"total", 1.5}};
  report.source_rules = {{"*.w", {"a.w", "b.w"}}};
  const auto json = nlohmann::json::parse(report_json({"ckpt-merge", job, {"a warning"}}, report, 4096));
  CHECK(json["program"] == "ckpt-merge");
  CHECK(json["version"] == CKPT_VERSION);
  CHECK(json["status"] == "done");
  CHECK(json["warnings"] == nlohmann::json{"a warning"});
  CHECK(json["libraries"]["hdf5"].get<std::string>().substr(0, 1) == "1");
  CHECK(json["source"] == "src");
  CHECK(json["exchange"] == "mpi");
  CHECK(json["processes"] == 3);
  CHECK(json["bytes_written"] == 18446744073709551615ULL);
  CHECK(json["peak_resident_bytes"] == 4096);
  CHECK(json["seconds"]["total"] == 1.5);
  CHECK(json["source_rules"] == nlohmann::json::parse(R"([{"rule": "*.w", "parameters": ["a.w", "b.w"]}])"));
  CHECK(json["target_rules"].empty());
}

namespace {

constexpr const char* older = "{\n  \"program\": \"ckpt-split\",\n  \"version\": \"an older and longer report\"}\n";

class ReportFile : public ResultFile {
 public:
  ReportFile(const std::string& path, const std::filesystem::path& output) : ResultFile(report_kind(), path, output) {}
};

std::size_t count_in(const fixture::TemporaryDirectory& scratch) {
  const std::filesystem::directory_iterator all(scratch / "");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("whether a report can be written is tried before the job, and nothing is left where nothing is written") {
  const fixture::TemporaryDirectory scratch;
  {
    const ReportFile file(scratch / "report.json", scratch / "out");
    CHECK(count_in(scratch) == 0);  // nor by a job that is killed
  }
  CHECK(count_in(scratch) == 0);
}

TEST_CASE("a draft that a killed job left is the next one's, if it is a report") {
  const fixture::TemporaryDirectory scratch;
  const std::string path = scratch / "report.json";
  std::ofstream(path + ".ckpt-new") << older;
  ReportFile(path, scratch / "out").write(older);
  CHECK(fixture::read_text(path) == older);
  CHECK(count_in(scratch) == 1);
  std::ofstream(path + ".ckpt-new") << "my notes";
  const auto error = caught([&] { const ReportFile file(path, scratch / "out"); });
  CHECK(error.kind == Kind::io);
  CHECK_THAT(error.message, Contains("report.json.ckpt-new, which exists, and is no report"));
  CHECK(fixture::read_text(path + ".ckpt-new") == "my notes");
}

TEST_CASE("jobs that write one report at a time leave one of theirs") {
  const fixture::TemporaryDirectory scratch;
  std::vector<std::thread> jobs;
  std::atomic<int> written{0};
  for (int job = 0; job < 4; ++job)
    jobs.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        ReportFile(scratch / "report.json", scratch / "out").write(older);
        ++written;
      }
    });
  for (std::thread& job : jobs) job.join();
  CHECK(written == 200);
  CHECK(fixture::read_text(scratch / "report.json") == older);
  CHECK(count_in(scratch) == 1);
}

TEST_CASE("a report replaces an older one, which stays where nothing is written") {
  const fixture::TemporaryDirectory scratch;
  const std::string path = scratch / "report.json";
  std::ofstream(path) << older;
  { const ReportFile file(path, scratch / "out"); }
  CHECK(fixture::read_text(path) == older);
  {
    ReportFile file(path, scratch / "out");
    file.write("{}\n");
    file.write("of the failure that followed");
  }
  CHECK(fixture::read_text(path) == "{}\n");
  CHECK(count_in(scratch) == 1);
  const auto permissions = std::filesystem::status(path).permissions();
  CHECK((permissions & std::filesystem::perms::owner_read) != std::filesystem::perms::none);
}

TEST_CASE("what report_json writes is known again as a report") {
  const fixture::TemporaryDirectory scratch;
  const std::string path = scratch / "report.json";
  for (const Verb verb : {Verb::reshard, Verb::merge, Verb::split})
    ReportFile(path, scratch / "out")
        .write(report_json({program(verb).manual.report_name(), ReshardJob(), {}}, Report(), 0));
  CHECK(nlohmann::json::parse(fixture::read_text(path))["program"] == "ckpt-split");
}

TEST_CASE("a report takes the place of nothing but a report or an empty file") {
  const fixture::TemporaryDirectory scratch;
  const std::string path = scratch / "file";
  const std::string job = scratch / "out";
  for (const char* text :
       {"\211HDF\r\n\032\n", "{\"ckpt_layout\": 1}", "{\"ckpt_manifest\": 1}", "{\"program\": \"mine\"}", "x"}) {
    CAPTURE(text);
    std::ofstream(path) << text;
    const auto error = caught([&] { const ReportFile file(path, job); });
    CHECK(error.kind == Kind::io);
    CHECK_THAT(error.message, Contains("it exists, and is no report"));
    CHECK(fixture::read_text(path) == text);
    // By way of a link.
    std::filesystem::create_symlink("file", scratch / "link");
    CHECK_THAT(caught([&] { const ReportFile link(scratch / "link", job); }).message,
               Contains("it leads to " + path + ", which exists"));
    std::filesystem::remove(scratch / "link");
  }
  std::ofstream(path, std::ios::trunc).close();
  ReportFile(path, job).write("{}");
  CHECK(fixture::read_text(path) == "{}");
  std::filesystem::create_directory(scratch / "directory");
  CHECK(caught([&] { const ReportFile file(scratch / "directory", job); }).kind == Kind::io);
  std::filesystem::create_symlink("nowhere", scratch / "dangling");
  CHECK(caught([&] { const ReportFile file(scratch / "dangling", job); }).kind == Kind::io);
}

TEST_CASE("what has come to a report's place while the job ran stays") {
  const fixture::TemporaryDirectory scratch;
  const std::string path = scratch / "report.json";
  ReportFile file(path, scratch / "out");
  std::ofstream(path) << "mine";
  CHECK(caught([&] { file.write("{}"); }).kind == Kind::io);
  CHECK(fixture::read_text(path) == "mine");
}

TEST_CASE("a report that a link leads to is replaced there") {
  const fixture::TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch / "reports");
  std::ofstream(scratch / "reports/1.json") << older;
  std::filesystem::create_symlink("reports/1.json", scratch / "latest");
  ReportFile(scratch / "latest", scratch / "out").write("{}");
  CHECK(fixture::read_text(scratch / "reports/1.json") == "{}");
  CHECK(std::filesystem::is_symlink(scratch / "latest"));
}

TEST_CASE("a report does not lie in the output, or over it") {
  const fixture::TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch / "out");
  std::filesystem::create_directory_symlink("out", scratch / "link");
  for (const char* path : {"out", "out/report.json", "out.partial", "out.partial/r", "out.partial.lock",
                           "out.partial.journal", "link/report.json", "./out/../out/r"}) {
    CAPTURE(path);
    const auto error = caught([&] { const ReportFile file(scratch / path, scratch / "out"); });
    CHECK(error.kind == Kind::usage);
    CHECK_THAT(error.message, Contains("it would lie in the output"));
  }
  CHECK(caught([&] { const ReportFile file(scratch / "out", scratch / "out.ckpt-new"); }).kind ==
        Kind::usage);  // its draft
  const ReportFile file(scratch / "out.json", scratch / "out");
}

TEST_CASE("pipes and devices are written into") {
  const fixture::TemporaryDirectory scratch;
  const std::string job = scratch / "out";
  ReportFile("/dev/null", job).write("{}");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  ReportFile full("/dev/full", job);
  CHECK_THAT(caught([&] { full.write("{}"); }).message, Contains("No space left on device"));
  const std::string pipe = scratch / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(caught([&] { const ReportFile file(pipe, job); }).message, Contains("does anybody read from the pipe?"));
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ReportFile(pipe, job).write("{}");
  char text[8] = {};
  CHECK(::read(reader, text, sizeof text) == 2);
  CHECK(::read(reader, text, sizeof text) == 0);  // its end
  // An open file, by its number: written into where it stands.
  const int file = ::open((scratch / "log").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(::write(file, "log: ", 5) == 5);
  ReportFile("/dev/fd/" + std::to_string(file), job).write("{}");
  CHECK(fixture::read_text(scratch / "log") == "log: {}");
  ::close(file);
  ::close(reader);
}

TEST_CASE("a report that cannot be written is an error before the job starts") {
  const fixture::TemporaryDirectory scratch;
  const auto error = caught([&] { const ReportFile file(scratch / "no/such/report.json", scratch / "out"); });
  CHECK(error.kind == Kind::io);
  CHECK_THAT(
      error.message,
      Contains("report.json.ckpt-new: cannot be made: No such file or directory; make its directory: mkdir -p "));
}

TEST_CASE("the process knows the memory it has held") {
  CHECK(peak_resident_bytes() > 1'000'000);
}
