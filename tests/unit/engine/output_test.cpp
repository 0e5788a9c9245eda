#include "engine/output.hpp"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.hpp"
#include "catch.hpp"
#include "unit/engine/temporary_directory.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

class Place {
 public:
  Place() {
    fs::create_directory(source());
    write_text(source() / "rank_0.h5", "source");
  }
  fs::path source() const { return directory_ / "source"; }
  fs::path path(const std::string& name) const { return directory_ / name; }
  /// What there is, sorted.
  Names names() const {
    Names names;
    for (const auto& entry : fs::directory_iterator(directory_ / "")) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  Job job(const fs::path& output) const {
    Job job;
    job.source = source();
    job.output = output;
    return job;
  }
  Job job() const { return job(path("out")); }

 private:
  TemporaryDirectory directory_;
};

constexpr const char* hdf5 = "\211HDF\r\n\032\n, and then something";
constexpr const char* two_cards =
    R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [2]}, "default": "replicate"})";
const std::string manifest_of_two = R"({"ckpt_manifest": 1, "layout": )" + std::string(two_cards) + "}";

/// An output of two files, planned and claimed.
class Claimed {
 public:
  explicit Claimed(const Job& job, const char* layout = two_cards) : store_(hdf5_store()), output_(job) {
    output_.plan(parse_layout(layout, "two"), *store_);
    output_.claim();
  }
  Output* operator->() { return &output_; }

 private:
  std::unique_ptr<Store> store_;
  Output output_;
};

template <class Work>
std::optional<Error> error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

std::optional<Error> refused(const Job& job) {
  return error_of([&] { Claimed output(job); });
}

Job forced(Job job) {
  job.force = true;
  return job;
}

Job single(Job job) {
  job.target.single_file = true;
  return job;
}

}  // namespace

TEST_CASE("what is made becomes the output when it is published, whole") {
  const Place place;
  {
    Claimed output(place.job());
    CHECK_FALSE(fs::exists(output->partial()));  // nothing is made yet
    output->begin("the job", false);
    CHECK(output->partial() == place.path("out.partial"));
    CHECK(output->file("rank_1.h5") == place.path("out.partial") / "rank_1.h5");
    write_text(output->file("rank_1.h5"), "made");
    CHECK_FALSE(fs::exists(place.path("out")));
    output->publish();
    CHECK(place.names() == Names{"out", "source"});
  }
  CHECK(read_text(place.path("out") / "rank_1.h5") == "made");
  CHECK_FALSE(fs::exists(place.path("out.partial")));
}

TEST_CASE("what is begun and not published leaves nothing") {
  const Place place;
  {
    Claimed output(place.job());
    output->begin("the job", false);
    write_text(output->file("rank_0.h5"), "half");
  }
  CHECK(place.names() == Names{"source"});
}

TEST_CASE("data stays where a failed run can be gone on with, and the error says so") {
  const Place place;
  const auto left_by = [&](Kind kind, bool has_data) {
    Error error(kind, "failed");
    {
      Claimed output(place.job());
      output->begin("the job", false);
      if (has_data) output->fill();
      output->fail(error);
    }
    const bool is_left = fs::remove_all(place.path("out.partial")) > 0;
    CHECK(place.names() == Names{"source"});
    CHECK(is_left == (std::string(error.what()).find("out.partial holds what was written") != std::string::npos));
    return is_left;
  };
  for (const Kind kind : {Kind::io, Kind::peer, Kind::interrupted, Kind::terminated}) {
    CHECK(left_by(kind, true));
    CHECK_FALSE(left_by(kind, false));
  }
  CHECK_FALSE(left_by(Kind::input, true));  // the source itself is wrong
}

TEST_CASE("a single file is made beside its place, too") {
  const Place place;
  Claimed output(single(place.job(place.path("merged.h5"))));
  output->begin("the job", false);
  CHECK(output->file("rank_0.h5") == place.path("merged.h5.partial"));
  CHECK(fs::is_regular_file(place.path("merged.h5.partial")));
  write_text(output->file(""), "merged");
  output->publish();
  CHECK(read_text(place.path("merged.h5")) == "merged");
  CHECK(place.names() == Names{"merged.h5", "source"});
}

TEST_CASE("what exists is refused, with the way on") {
  const Place place;
  fs::create_directory(place.path("out"));
  const auto there = refused(place.job());
  REQUIRE(there.has_value());
  CHECK(there->kind() == Kind::io);
  CHECK_THAT(there->what(), Contains("out: it exists") && Contains("--force"));
  fs::remove(place.path("out"));
  fs::create_directory(place.path("out.partial"));
  const auto left = refused(place.job());
  REQUIRE(left.has_value());
  CHECK_THAT(left->what(), Contains("out.partial: an earlier run left it") && Contains("--force"));
  fs::remove(place.path("out.partial"));
  fs::create_symlink("nowhere", place.path("out"));
  CHECK(refused(place.job()).has_value());  // a dangling link is something, too
}

TEST_CASE("an output is replaced with --force, and so is what an earlier run left") {
  const Place place;
  fs::create_directory(place.path("out"));
  write_text(place.path("out") / "rank_1.h5", hdf5);
  fs::create_directory(place.path("out.partial"));
  write_text(place.path("out.partial") / "rank_0.h5", hdf5);
  Claimed output(forced(place.job()));
  output->begin("the job", false);
  CHECK_FALSE(fs::exists(place.path("out.partial") / "rank_0.h5"));
  CHECK(fs::exists(place.path("out") / "rank_1.h5"));  // as long as the new one is not whole
  write_text(output->file("rank_0.h5"), "new");
  output->publish();
  CHECK(fs::exists(place.path("out") / "rank_0.h5"));
  CHECK_FALSE(fs::exists(place.path("out") / "rank_1.h5"));
  CHECK(place.names() == Names{"out", "source"});  // no .partial, nothing set aside
}

TEST_CASE("an output stays where --force does not come to its end") {
  const Place place;
  fs::create_directory(place.path("out"));
  write_text(place.path("out") / "rank_0.h5", hdf5);
  {
    Claimed output(forced(place.job()));
    output->begin("the job", false);
  }
  CHECK(read_text(place.path("out") / "rank_0.h5") == hdf5);
}

TEST_CASE("an output in its source, or over it, is refused even with --force") {
  const Place place;
  for (const fs::path& output : {place.source(), place.source() / "out", place.path("elsewhere/../source/a/b")}) {
    Job job = place.job(output);
    job.force = true;
    const auto error = refused(job);
    CAPTURE(output);
    REQUIRE(error.has_value());
    CHECK(error->kind() == Kind::usage);
    CHECK_THAT(error->what(), Contains("would lie in the source"));
  }
  CHECK(fs::exists(place.source() / "rank_0.h5"));
  Job job = place.job();
  job.source = place.path("out.partial");  // begin() would remove it
  job.force = true;
  fs::create_directory(job.source);
  CHECK(refused(job).has_value());
  CHECK_FALSE(refused(place.job(place.path("source2"))).has_value());  // a longer name is another place
}

TEST_CASE("an output in a directory that is not there is an error of its own words") {
  const Place place;
  CHECK_THAT(refused(place.job(place.path("no/such/out")))->what(),
             Contains("out.partial: cannot be made") && Contains("exist"));
}

TEST_CASE("a slash at the end changes nothing") {
  const Place place;
  Output output(place.job(fs::path(place.path("out").string() + "//")));
  CHECK(output.partial() == place.path("out.partial"));
}

TEST_CASE("a run goes on only with what a run of its own kind has left") {
  for (const bool single_file : {false, true}) {
    const Place place;
    Job job = place.job();
    job.target.single_file = single_file;
    CHECK_FALSE(Output(job).earlier_job());
    {
      Claimed output(job);
      output->begin("the job", false);
      output->fill();
      Error error(Kind::io, "the disk is full");
      output->fail(error);
      CHECK_THAT(error.what(), Contains("go on with --resume"));
    }
    CHECK_THAT(refused(job)->what(), Contains("go on with --resume, or start anew with --force"));
    job.resume = true;
    {
      Claimed output(job);
      REQUIRE(output->earlier_job() == "the job");
      output->begin("the job", true);
      CHECK(fs::exists(output->journal() / "job"));
      output->publish();
      CHECK_FALSE(fs::exists(output->journal()));
    }
    CHECK(place.names() == Names{"out", "source"});
  }
}

TEST_CASE("resuming without anything to go on with begins anew") {
  const Place place;
  Job job = place.job();
  fs::create_directory(place.path("out.partial"));
  write_text(place.path("out.partial") / "rank_0.h5", hdf5);
  job.resume = true;
  Claimed output(job);
  CHECK_FALSE(output->earlier_job());
  output->begin("the job", false);
  CHECK_FALSE(fs::exists(place.path("out.partial") / "rank_0.h5"));
}

TEST_CASE("what is no checkpoint is refused with --force, named, and stays") {
  struct Case {
    std::string name;
    std::function<void(const fs::path&)> make;
    std::string said;
    bool single_file;
  };
  const auto directory_with = [](const std::string& file, const std::string& text) {
    return [=](const fs::path& at) {
      fs::create_directories((at / file).parent_path());
      write_text(at / file, text);
    };
  };
  const std::vector<Case> cases{
      {"notes", directory_with("notes.txt", "mine"), "notes.txt", false},
      {"deep", directory_with("a/b/notes.txt", "mine"), "a/b/notes.txt", false},
      {"a rank file's name alone", directory_with("rank_0.h5", "but no HDF5"), "rank_0.h5", false},
      {"another card", directory_with("rank_7.h5", hdf5), "rank_7.h5", false},
      {"another's manifest", directory_with("checkpoint.json", R"({"layout": 1})"), "checkpoint.json", false},
      {"an unfinished output", directory_with(".journal/job", "x"), ".journal/job", false},
      {"a file", [](const fs::path& at) { write_text(at, "mine"); }, "a file of another kind", false},
      {"a text", [](const fs::path& at) { write_text(at, "mine"); }, "a file of another kind", true},
      {"a directory of files", directory_with("rank_0.h5", hdf5), "a directory", true},
      {"an empty directory", [](const fs::path& at) { fs::create_directory(at); }, "a directory", true},
      {"a pipe", [](const fs::path& at) { ::mkfifo(at.c_str(), 0600); }, "a FIFO", true},
      {"a pipe within",
       [](const fs::path& at) {
         fs::create_directory(at);
         ::mkfifo((at / "rank_0.h5").c_str(), 0600);
       },
       "rank_0.h5 (a FIFO)", false},
      {"a link", [](const fs::path& at) { fs::create_symlink("source", at); }, "a symbolic link to source", false},
      {"a link to nothing", [](const fs::path& at) { fs::create_symlink("gone", at); }, "a symbolic link to gone",
       true},
      {"a link within",
       [](const fs::path& at) {
         fs::create_directory(at);
         fs::create_symlink("../source/rank_0.h5", at / "rank_0.h5");
       },
       "rank_0.h5 (a symbolic link to ../source/rank_0.h5)", false},
  };
  for (const Case& each : cases)
    for (const std::string where : {"elsewhere", "elsewhere.partial"}) {
      if (each.name == "an unfinished output" && where != "elsewhere") continue;
      CAPTURE(each.name, where);
      const Place place;
      each.make(place.path(where));
      Job job = forced(place.job(place.path("elsewhere")));
      job.target.single_file = each.single_file;
      const auto error = refused(job);
      // What an interrupted job has left may be a directory where a file is to be written now.
      if (where != "elsewhere" && each.single_file && each.said == "a directory") continue;
      if (each.name == "a link") {  // it leads over the source
        REQUIRE(error.has_value());
      } else {
        REQUIRE(error.has_value());
        CHECK(error->kind() == Kind::io);
        CHECK_THAT(error->what(), Contains(where + ": there is what no job") && Contains(each.said));
      }
      CHECK(place.names() == Names{where, "source"});
    }
}

TEST_CASE("a checkpoint of any layout is replaced with --force, by its manifest") {
  const Place place;
  fs::create_directories(place.path("out") / "folder");
  const std::string other =
      R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [3]}, "files": "folder/{card}", "default": "replicate"})";
  write_text(place.path("out") / "checkpoint.json", R"({"ckpt_manifest": 1, "layout": )" + other + "}");
  for (const char* name : {"0", "1", "2"}) write_text(place.path("out") / "folder" / name, "whatever");
  for (const bool single_file : {false, true}) {
    Job job = forced(place.job());
    job.target.single_file = single_file;
    CHECK_FALSE(refused(job).has_value());
  }
  write_text(place.path("out") / "folder" / "3", hdf5);
  CHECK_THAT(refused(forced(place.job()))->what(), Contains("folder/3"));
}

TEST_CASE("what came to stand in the output's place is judged again when it is published") {
  for (const bool has_old : {false, true}) {
    const Place place;
    if (has_old) fs::create_directory(place.path("out"));
    Claimed output(forced(place.job()));
    output->begin("the job", false);
    fs::create_directories(place.path("out"));
    write_text(place.path("out") / "diary", "mine");
    const auto error = error_of([&] { output->publish(); });
    REQUIRE(error.has_value());
    CHECK_THAT(error->what(), Contains("diary"));
    CHECK(read_text(place.path("out") / "diary") == "mine");
  }
}

TEST_CASE("one output is one job's: others are told who writes it, and touch nothing") {
  for (const bool single_file : {false, true}) {
    const Place place;
    Job job = place.job();
    job.target.single_file = single_file;
    {
      Claimed first(job);
      first->begin("the job", false);
      const auto before = place.names();
      for (const auto& [force, resume] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
        Job second = job;
        second.force = force;
        second.resume = resume;
        const auto error = refused(second);
        REQUIRE(error.has_value());
        CHECK(error->kind() == Kind::io);
        CHECK_THAT(error->what(), Contains("out.partial: another job is writing it (process " +
                                           std::to_string(::getpid()) + " on host "));
      }
      CHECK(place.names() == before);
    }
    CHECK_FALSE(refused(job).has_value());  // as soon as it has ended
    CHECK(place.names() == Names{"source"});
  }
}

TEST_CASE("two jobs that have both looked: the first one to claim has it") {
  const Place place;
  const auto store = hdf5_store();
  Output first(forced(place.job()));
  Output second(forced(place.job()));
  for (Output* output : {&first, &second}) output->plan(parse_layout(two_cards, "two"), *store);
  first.claim();
  CHECK_THAT(error_of([&] { second.claim(); })->what(), Contains("another job is writing it"));
}

TEST_CASE("a job publishes nothing but what it has made") {
  const std::vector<std::function<void(const fs::path&)>> deeds{
      [](const fs::path& partial) { fs::remove_all(partial); },
      [](const fs::path& partial) {
        fs::remove_all(partial);
        fs::create_directory(partial);
      },
      [](const fs::path& partial) {
        fs::rename(partial, partial.string() + "2");
        fs::create_directory(partial);
      },
      [](const fs::path& partial) { fs::remove(partial.string() + ".lock"); },
      [](const fs::path& partial) { write_text(partial.string() + ".lock", "another job"); },
  };
  for (const auto& deed : deeds)
    for (const bool force : {false, true}) {
      const Place place;
      Job job = place.job();
      job.force = force;
      Error error(Kind::io, "");
      {
        Claimed output(job);
        output->begin("the job", false);
        output->fill();
        deed(place.path("out.partial"));
        const auto found = error_of([&] { output->publish(); });
        REQUIRE(found.has_value());
        error = *found;
        output->fail(error);
      }
      CHECK_THAT(error.what(), Contains("out.partial: it is not what this job made") && !Contains("--resume"));
      CHECK_FALSE(fs::exists(place.path("out")));
    }
}

TEST_CASE("sources are found behind links, on either side") {
  const Place place;
  fs::create_directory(place.path("blobs"));
  write_text(place.path("blobs") / "b", hdf5);
  fs::create_symlink("../blobs/b", place.source() / "rank_1.h5");
  fs::create_directory_symlink("blobs", place.path("other"));
  for (const char* output : {"blobs", "other", "blobs/b", "source/../blobs"}) {
    CAPTURE(output);
    const Output it(forced(place.job(place.path(output))));
    it.check_sources({place.source() / "rank_0.h5"});
    const auto error = error_of([&] {
      it.check_sources({place.source() / "rank_0.h5", place.source() / "rank_1.h5"});
    });
    REQUIRE(error.has_value());
    CHECK(error->kind() == Kind::usage);
    CHECK_THAT(error->what(), Contains("rank_1.h5") && Contains("blobs/b"));
  }
  for (const char* output : {"blobs/c", "b", "out"})
    Output(forced(place.job(place.path(output)))).check_sources({place.source() / "rank_1.h5"});
}

TEST_CASE("a layout file is not written over") {
  const Place place;
  fs::create_directory(place.path("out"));
  write_text(place.path("out") / "rank_0.h5", two_cards);
  Job job = forced(place.job());
  job.layout_files = {place.path("out") / "rank_0.h5"};
  CHECK_THAT(refused(job)->what(), Contains("rank_0.h5, which the job reads"));
}

TEST_CASE("an output without a name is refused") {
  const Place place;
  for (const char* output : {".", "./", "/", "..", "a/.", "a/..", "a/./"}) {
    CAPTURE(output);
    const auto error = refused(forced(place.job(output)));
    REQUIRE(error.has_value());
    CHECK(error->kind() == Kind::usage);
    CHECK_THAT(error->what(), Contains("it ends in no name"));
  }
}

TEST_CASE("names that are too long are refused at the start") {
  const Place place;
  CHECK_THAT(refused(place.job(place.path(std::string(240, 'x'))))->what(), Contains("the file system allows 255"));
  CHECK_THAT(refused(place.job(place.path(std::string(3000, '/') + std::string(1100, 'x'))))->what(),
             Contains("allows"));
  CHECK_FALSE(refused(place.job(place.path(std::string(239, 'x')))).has_value());
  const std::string files = R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [11]}, "files": ")" +
                            std::string(245, 'x') + R"({x}", "default": "replicate"})";
  CHECK_THAT(error_of([&] { Claimed output(place.job(), files.c_str()); })->what(),
             Contains("--resume needs") && Contains("allows 255"));
}
