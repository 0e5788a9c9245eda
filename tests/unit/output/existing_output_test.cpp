#include "output/existing_output.hpp"

#include <sys/stat.h>

#include <functional>

#include "catch.hpp"
#include "unit/output/output_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

TEST_CASE("an output in its source, or over it, is refused even with --force") {
  const Place place;
  for (const fs::path& output : {place.source(), place.source() / "out", place.path("elsewhere/../source/a/b")}) {
    WrittenJob job = place.job(output);
    job.output.force = true;
    const auto error = refusal_of(job);
    CAPTURE(output);
    REQUIRE(error.has_value());
    CHECK(error->kind() == Kind::usage);
    CHECK_THAT(error->what(), Contains("would lie in the source"));
  }
  CHECK(fs::exists(place.source() / "rank_0.h5"));
  WrittenJob job = place.job();
  job.source = place.path("out.partial");  // begin() would remove it
  job.output.force = true;
  fs::create_directory(job.source);
  CHECK(refusal_of(job).has_value());
  CHECK_FALSE(refusal_of(place.job(place.path("source2"))).has_value());  // a longer name is another place
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
      WrittenJob job = forced(place.job(place.path("elsewhere")));
      job.output.is_single_file = each.single_file;
      const auto error = refusal_of(job);
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
    WrittenJob job = forced(place.job());
    job.output.is_single_file = single_file;
    CHECK_FALSE(refusal_of(job).has_value());
  }
  write_text(place.path("out") / "folder" / "3", hdf5);
  CHECK_THAT(refusal_of(forced(place.job()))->what(), Contains("folder/3"));
}

TEST_CASE("an index of a checkpoint's files is replaced with them, and no other") {
  const Place place;
  const fs::path model = place.path("out");
  const fs::path index = model / "model.safetensors.index.json";
  fs::create_directory(model);
  write_text(model / "checkpoint.json", R"({"ckpt_manifest": 1, "layout": )" + std::string(two_cards) + "}");
  write_text(index, R"({"metadata": {}, "weight_map": {"a": "rank_0.h5", "b": "rank_1.h5"}})");
  CHECK_FALSE(refusal_of(forced(place.job())).has_value());
  for (const char* text : {R"({"weight_map": {"a": "rank_0.h5", "b": "rank_2.h5"}})",
                           R"({"a": {"shape": [2], "dtype": "f32"}})", "{", ""}) {
    CAPTURE(text);
    write_text(index, text);
    CHECK_THAT(refusal_of(forced(place.job()))->what(), Contains("model.safetensors.index.json"));
  }
}

TEST_CASE("half an index that a killed job has left is cleared with the rest") {
  const Place place;
  const fs::path partial = place.path("out.partial");
  fs::create_directories(partial / ".journal");
  const std::string two_files = R"({"ckpt_layout": 1, "mesh": {"axes": ["file"], "shape": [2]},
                                    "files": "model-{card:05}-of-00002.safetensors", "default": "replicate"})";
  write_text(partial / ".journal" / "job", R"({"ckpt_journal": 1, "to": )" + two_files + "}");
  write_text(partial / "model.safetensors.index.json", "{");
  CHECK_FALSE(refusal_of(forced(place.job())).has_value());
  write_text(partial / "model.h5.index.json", "{");
  CHECK_THAT(refusal_of(forced(place.job()))->what(), Contains("model.h5.index.json"));
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

TEST_CASE("sources are found behind links, on either side") {
  const Place place;
  fs::create_directory(place.path("blobs"));
  write_text(place.path("blobs") / "b", hdf5);
  fs::create_symlink("../blobs/b", place.source() / "rank_1.h5");
  fs::create_directory_symlink("blobs", place.path("other"));
  for (const char* output : {"blobs", "other", "blobs/b", "source/../blobs"}) {
    CAPTURE(output);
    Output it(forced(place.job(place.path(output))).output);
    it.check_sources({place.source() / "rank_0.h5"});
    const auto error = error_of([&] {
      it.check_sources({place.source() / "rank_0.h5", place.source() / "rank_1.h5"});
    });
    REQUIRE(error.has_value());
    CHECK(error->kind() == Kind::usage);
    CHECK_THAT(error->what(), Contains("rank_1.h5") && Contains("blobs/b"));
  }
  for (const char* output : {"blobs/c", "b", "out"})
    Output(forced(place.job(place.path(output))).output).check_sources({place.source() / "rank_1.h5"});
}

TEST_CASE("a layout file is not written over") {
  const Place place;
  fs::create_directory(place.path("out"));
  write_text(place.path("out") / "rank_0.h5", two_cards);
  WrittenJob job = forced(place.job());
  job.spared_files = {place.path("out") / "rank_0.h5"};
  CHECK_THAT(refusal_of(job)->what(), Contains("rank_0.h5, which the job reads"));
}

TEST_CASE("an output without a name is refused") {
  const Place place;
  for (const char* output : {".", "./", "/", "..", "a/.", "a/..", "a/./"}) {
    CAPTURE(output);
    const auto error = refusal_of(forced(place.job(output)));
    REQUIRE(error.has_value());
    CHECK(error->kind() == Kind::usage);
    CHECK_THAT(error->what(), Contains("it ends in no name"));
  }
}

TEST_CASE("names that are too long are refused at the start") {
  const Place place;
  CHECK_THAT(refusal_of(place.job(place.path(std::string(240, 'x'))))->what(),
             Contains("expected at most 255, which the file system allows"));
  CHECK_THAT(refusal_of(place.job(place.path(std::string(3000, '/') + std::string(1100, 'x'))))->what(),
             Contains("allows"));
  CHECK_FALSE(refusal_of(place.job(place.path(std::string(239, 'x')))).has_value());
  const std::string files = R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [11]}, "files": ")" +
                            std::string(255, 'x') + R"({x}", "default": "replicate"})";
  CHECK_THAT(error_of([&] { Claimed output(place.job(), files.c_str()); })->what(),
             Contains("in it") && Contains("at most 255"));
}
