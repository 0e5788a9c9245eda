#include "output/output.hpp"

#include <unistd.h>

#include <functional>
#include <optional>

#include "catch.hpp"
#include "unit/output/output_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

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
  const auto there = refusal_of(place.job());
  REQUIRE(there.has_value());
  CHECK(there->kind() == Kind::io);
  CHECK_THAT(there->what(), Contains("out: it exists"));
  CHECK(there->text().advice.what == Advice::What::replace_output);
  fs::remove(place.path("out"));
  fs::create_directory(place.path("out.partial"));
  const auto left = refusal_of(place.job());
  REQUIRE(left.has_value());
  CHECK_THAT(left->what(), Contains("out.partial: an earlier run left it"));
  CHECK(left->text().advice.what == Advice::What::resume_or_restart);
  fs::remove(place.path("out.partial"));
  fs::create_symlink("nowhere", place.path("out"));
  CHECK(refusal_of(place.job()).has_value());  // a dangling link is something, too
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

TEST_CASE("an output in a directory that is not there is an error of its own words") {
  const Place place;
  CHECK_THAT(refusal_of(place.job(place.path("no/such/out")))->what(),
             Contains("out.partial: cannot be made") && Contains("exist"));
}

TEST_CASE("a slash at the end changes nothing") {
  const Place place;
  Output output(place.job(fs::path(place.path("out").string() + "//")).output);
  CHECK(output.partial() == place.path("out.partial"));
}

TEST_CASE("a run goes on only with what a run of its own kind has left") {
  for (const bool single_file : {false, true}) {
    const Place place;
    WrittenJob job = place.job();
    job.output.is_single_file = single_file;
    CHECK_FALSE(Output(job.output).earlier_job());
    {
      Claimed output(job);
      output->begin("the job", false);
      output->fill();
      Error error(Kind::io, "the disk is full");
      output->fail(error);
      CHECK(error.text().advice.what == Advice::What::resume_or_restart);
    }
    CHECK(refusal_of(job)->text().advice.what == Advice::What::resume_or_restart);
    job.output.resume = true;
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
  WrittenJob job = place.job();
  fs::create_directory(place.path("out.partial"));
  write_text(place.path("out.partial") / "rank_0.h5", hdf5);
  job.output.resume = true;
  Claimed output(job);
  CHECK_FALSE(output->earlier_job());
  output->begin("the job", false);
  CHECK_FALSE(fs::exists(place.path("out.partial") / "rank_0.h5"));
}

TEST_CASE("one output is one job's: others are told who writes it, and touch nothing") {
  for (const bool single_file : {false, true}) {
    const Place place;
    WrittenJob job = place.job();
    job.output.is_single_file = single_file;
    {
      Claimed first(job);
      first->begin("the job", false);
      const auto before = place.names();
      for (const auto& [force, resume] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
        WrittenJob second = job;
        second.output.force = force;
        second.output.resume = resume;
        const auto error = refusal_of(second);
        REQUIRE(error.has_value());
        CHECK(error->kind() == Kind::io);
        CHECK_THAT(error->what(), Contains("out.partial: another job is writing it (process " +
                                           std::to_string(::getpid()) + " on host "));
      }
      CHECK(place.names() == before);
    }
    CHECK_FALSE(refusal_of(job).has_value());  // as soon as it has ended
    CHECK(place.names() == Names{"source"});
  }
}

TEST_CASE("two jobs that have both looked: the first one to claim has it") {
  const Place place;
  const auto store = hdf5_store();
  Output first(forced(place.job()).output);
  Output second(forced(place.job()).output);
  for (Output* output : {&first, &second}) output->check_replaceable(parse_layout(two_cards, "two"), {}, *store);
  first.claim();
  CHECK_THAT(error_of([&] { second.claim(); })->what(), Contains("another job is writing it"));
}

TEST_CASE("who gets the lock after another job has published sees its output at once") {
  const Place place;
  const auto store = hdf5_store();
  Output late(place.job().output);
  late.check_free();
  late.check_replaceable(parse_layout(two_cards, "two"), {}, *store);
  {
    Claimed output(place.job());
    output->begin("the job", false);
    output->fill();
    output->publish();
  }
  CHECK_THAT(error_of([&] { late.claim(); })->what(), Contains("out: it exists already"));
}

TEST_CASE("one name is not a file of an output and a folder of it") {
  const Place place;
  const auto store = hdf5_store();
  const auto planned = [&](const std::string& files, const std::vector<std::string>& sidecars) {
    const auto error = error_of([&] {
      Output(place.job().output)
          .check_replaceable(
              parse_layout(
                  R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [2]}, "default": "replicate", "files": ")" +
                      files + "\"}",
                  "a layout"),
              sidecars, *store);
    });
    return error ? error->what() : std::string();
  };
  CHECK(planned("tag/rank_{x}.h5", {"latest"}).empty());
  CHECK_THAT(planned("latest/rank_{x}.h5", {"latest"}),
             Contains("\"latest\" would be a file of it and the folder of latest/rank_0.h5"));
}

TEST_CASE("an output grants others no more than all of its sources do") {
  const Place place;
  const fs::path one = place.source() / "rank_0.h5";
  const fs::path two = place.source() / "rank_1.h5";
  write_text(two, "source");
  const auto withheld = [&](fs::perms of_one, fs::perms of_two) {
    fs::permissions(one, of_one);
    fs::permissions(two, of_two);
    Output output(place.job().output);
    output.check_sources({one, two});
    return output.withheld();
  };
  constexpr fs::perms all{0666};
  CHECK(withheld(all, all) == 0);
  CHECK(withheld(all, fs::perms{0600}) == 066);
  CHECK(withheld(fs::perms{0640}, fs::perms{0664}) == 026);
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
      WrittenJob job = place.job();
      job.output.force = force;
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
      CHECK_THAT(error.what(), Contains("out.partial: it is not what this job made"));
      CHECK(error.text().advice.what == Advice::What::none);
      CHECK_FALSE(fs::exists(place.path("out")));
    }
}
