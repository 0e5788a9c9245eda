#include "cli/done_file.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "catch.hpp"
#include "cli/model_choice.hpp"
#include "cli/wait.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

// As PaddleRec's flow_helper and fleet_util write them.
const std::string checkpoints =
    "20190720\t1563540000\thdfs:/user/paddle/output/20190720/6/\t6\t0\n"
    "20190721\t1563630000\thdfs:/user/paddle/output/20190721/0/\t-1\t0\n";
const std::string bases =
    R"({"id": "1563540000", "key": "1563540000", "input": "hdfs:/user/paddle/output/20190720/base/000", "monitor_data": ""})"
    "\n"
    R"({"id":"1563630000","key":"1563630000","input":"/user/paddle/output/20190721/base/000","record_count":"111111"})"
    "\n";
const std::string patches =
    R"({"id": "1563540600", "key": "1563540000", "input": "hdfs:/user/paddle/output/20190720/delta-6/000"})"
    "\n"
    R"({"id": "1563630600", "key": "1563630000", "input": "/user/paddle/output/20190721/delta-6/000"})"
    "\n"
    R"({"id": "1563631200", "key": 1563630000, "input": "/user/paddle/output/20190721/delta-12/000"})"
    "\n";

void put(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::vector<std::string> names(const ModelChoice& choice) {
  std::vector<std::string> found;
  for (const DoneLine& line : choice.lines) found.push_back(line.name());
  return found;
}

std::string refused(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("lines of done-files, with tabs and as JSON: day and pass of their paths, and their keys") {
  const auto tabs = parse_done_lines(checkpoints, "donefile.txt");
  REQUIRE(tabs.size() == 2);
  CHECK((tabs[0].name() == "20190720/6" && tabs[0].key == "1563540000"));
  CHECK(tabs[1].name() == "20190721/0");
  const auto json = parse_done_lines(patches, "patch_donefile.txt");
  REQUIRE(json.size() == 3);
  CHECK((json[2].name() == "20190721/delta-12" && json[2].key == "1563630000" && json[2].is_delta()));
  for (const std::string line :
       {"20190720\tkey\t/out/20190720/6\n", "20190720\t1\t/out/20190721/6/\t6\t0\n", "{\"key\": 1}\n", "{\"key\"\n",
        "{\"key\": 1, \"input\": \"/out/2019/6/000\"}\n", "20190720\t1\t/out/20190720/six/\t6\t0\n", "x\n"})
    CHECK_THAT(refused([&] { static_cast<void>(parse_done_lines(checkpoints + line, "d.txt")); }),
               Contains("d.txt: line 3: "));
}

TEST_CASE("what --latest chooses") {
  const TemporaryDirectory out;
  CHECK_THAT(refused([&] { static_cast<void>(choose_model(out / "", "checkpoint")); }),
             Contains("it has no donefile.txt"));
  put(out / "donefile.txt", checkpoints);
  put(out / "base_donefile.txt", bases);
  CHECK(names(choose_model(out / "", "checkpoint")) == std::vector<std::string>{"20190721/0"});
  CHECK(names(choose_model(out / "", "chain")) == std::vector<std::string>{"20190721/base"});  // no delta yet
  put(out / "xbox_patch_done.txt", patches);
  const ModelChoice chain = choose_model(out / "", "chain");
  CHECK(names(chain) == std::vector<std::string>{"20190721/base", "20190721/delta-6", "20190721/delta-12"});
  CHECK(chain.deltas() == std::vector<std::filesystem::path>{out / "20190721/delta-6", out / "20190721/delta-12"});
  CHECK(chain.newest().key == "1563630000");
  CHECK(names(choose_model(out / "", "base")) == std::vector<std::string>{"20190721/base"});
  CHECK(names(choose_model(out / "", "20190720/base")) == std::vector<std::string>{"20190720/base"});
  CHECK(names(choose_model(out / "", "20190720/6")) == std::vector<std::string>{"20190720/6"});
  CHECK(names(choose_model(out / "", "20190720/delta-6")) ==
        std::vector<std::string>{"20190720/base", "20190720/delta-6"});
  CHECK(names(choose_model(out / "", "20190721/delta-6")) ==
        std::vector<std::string>{"20190721/base", "20190721/delta-6"});
  CHECK_THAT(refused([&] { static_cast<void>(choose_model(out / "", "20190722/6")); }),
             Contains("no line for 20190722/6") && Contains("the last is 20190721/0"));
  for (const std::string wanted : {"newest", "2019/6", "20190720", "20190720/", "20190720/delta-", "20190720/6/7"})
    CHECK_THAT(refused([&] { static_cast<void>(choose_model(out / "", wanted)); }),
               Contains("expected checkpoint, base, chain, or DAY/PASS"));
  put(out / "base_donefile.txt", bases.substr(0, bases.find('\n') + 1));
  CHECK_THAT(refused([&] { static_cast<void>(choose_model(out / "", "20190721/delta-6")); }),
             Contains("no base with key 1563630000"));
}

TEST_CASE("a line is added once, and can be read and waited for") {
  const TemporaryDirectory place;
  const auto file = place / "donefile.txt";
  const DoneLine pass = line_for("out/20190720/6", "77");
  add_done_line(file, pass, "/out/20190720/6");
  add_done_line(file, pass, "/out/20190720/6");
  add_done_line(file, line_for("out/20190721/0/", "78"), "/out/20190721/0");
  CHECK(read_done_file(file) == "20190720\t77\t/out/20190720/6/\t6\t0\n20190721\t78\t/out/20190721/0/\t-1\t0\n");
  CHECK(has_done_line(file, pass));
  CHECK_FALSE(has_done_line(file, line_for("20190720/7", "")));
  const auto bases_file = place / "bases";
  add_done_line(bases_file, line_for("20190721/base", "79"), "/out/20190721/base");
  CHECK(parse_done_lines(read_done_file(bases_file), "b").front().key == "79");
  put(file, "20190720\t77\t/out/20190720/6/\t6\t0");
  CHECK_FALSE(has_done_line(file, pass));  // its end may be missing yet
  CHECK_THAT(refused([] { static_cast<void>(line_for("out/model", "")); }), Contains("ends with no day and pass"));
  CHECK_THAT(refused([] { static_cast<void>(line_for("20190720/delta-6", "")); }), Contains("is not known"));
  CHECK(std::filesystem::exists(file.string() + ".partial") == false);
}

TEST_CASE("a line is of the path without its last slash, a delta's id is its own, and an older model gets none") {
  const TemporaryDirectory place;
  const auto file = place / "patches";
  add_done_line(file, line_for("out/20190720/delta-6/", "77"), "/out/20190720/delta-6/");
  const std::string text = read_done_file(file);
  CHECK_THAT(text, Contains(R"("input":"/out/20190720/delta-6/000","monitor_data":"")"));
  CHECK_THAT(text, Contains(R"("key":"77")"));
  CHECK_THAT(text, !Contains(R"("id":"77")"));
  CHECK(wants_done_line(file, line_for("20190720/delta-12", "77")));  // not by its letters
  for (const std::string older : {"20190720/delta-5", "20190719/delta-24"}) {
    CHECK_THAT(refused([&] { static_cast<void>(wants_done_line(file, line_for(older, "77"))); }),
               Contains("which came after " + older));
    CHECK_THAT(refused([&] { add_done_line(file, line_for(older, "77"), "/out/" + older); }),
               Contains("only the line"));
  }
  CHECK(read_done_file(file) == text);
  std::filesystem::create_symlink(file, place / "link");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  add_done_line(place / "link", line_for("20190720/delta-7", "77"), "/out/20190720/delta-7");
  CHECK(std::filesystem::is_symlink(place / "link"));
  CHECK(parse_done_lines(read_done_file(file), "f").size() == 2);
  CHECK(std::filesystem::status(file).permissions() == std::filesystem::perms::owner_all);
}

TEST_CASE("lines that several add at a time are all there, and a reader finds only whole files") {
  const TemporaryDirectory place;
  const auto file = place / "donefile.txt";
  constexpr int writers = 8;
  std::atomic<int> running{writers};
  std::vector<std::set<std::string>> added(writers);
  std::vector<std::thread> threads;
  for (int n = 0; n < writers; ++n)
    threads.emplace_back([&, n] {
      for (int day = 0; day < 20; ++day) {
        const std::string name = std::to_string(20190701 + day) + "/" + std::to_string(n + 1);
        try {
          add_done_line(file, line_for("out/" + name, "1"), "/out/" + name);
          added[static_cast<std::size_t>(n)].insert(name);
        } catch (const Error&) {  // a later one was faster
        }
      }
      --running;
    });
  std::size_t seen = 0;
  bool only_grows = true;
  while (running > 0) {
    const std::size_t lines = parse_done_lines(read_done_file(file), "f").size();  // throws for half a line
    only_grows = only_grows && lines >= seen;
    seen = lines;
  }
  for (std::thread& thread : threads) thread.join();
  const auto lines = parse_done_lines(read_done_file(file), "f");
  CHECK(only_grows);
  CHECK(lines.back().name() == "20190720/8");
  std::set<std::string> expected;
  for (const auto& each : added) expected.insert(each.begin(), each.end());
  std::set<std::string> found;
  for (const DoneLine& line : lines) found.insert(line.name());
  CHECK(found == expected);
  for (std::size_t i = 1; i < lines.size(); ++i) CHECK(lines[i - 1].is_before(lines[i]));
  CHECK_FALSE(std::filesystem::exists(file.string() + ".partial"));
}

TEST_CASE("a job waits for a file, or for a line of one") {
  CHECK(parse_awaited("out/done").file == "out/done");
  CHECK_FALSE(parse_awaited("hdfs:out/done").line);
  const WaitTarget awaited = parse_awaited("a:b/donefile.txt:20190720/6");
  CHECK(awaited.file == "a:b/donefile.txt");
  CHECK((awaited.line && awaited.line->name() == "20190720/6"));
}
