#include "engine/output.hpp"

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

class Place {
 public:
  Place() {
    fs::create_directory(source());
    write_text(source() / "rank_0.h5", "source");
  }
  fs::path source() const { return directory_ / "source"; }
  fs::path path(const std::string& name) const { return directory_ / name; }

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

std::optional<Error> refused(const Job& job) {
  try {
    const Output output(job);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("what is made becomes the output when it is published, whole") {
  const Place place;
  {
    Output output(place.job());
    CHECK_FALSE(fs::exists(output.partial()));  // nothing is touched yet
    output.begin(std::nullopt, false);
    CHECK(output.partial() == place.path("out.partial"));
    CHECK(output.file("rank_1.h5") == place.path("out.partial") / "rank_1.h5");
    write_text(output.file("rank_1.h5"), "made");
    CHECK_FALSE(fs::exists(place.path("out")));
    output.publish();
  }
  CHECK(read_text(place.path("out") / "rank_1.h5") == "made");
  CHECK_FALSE(fs::exists(place.path("out.partial")));
}

TEST_CASE("what is begun and not published leaves nothing") {
  const Place place;
  {
    Output output(place.job());
    output.begin(std::nullopt, false);
    write_text(output.file("rank_0.h5"), "half");
  }
  CHECK_FALSE(fs::exists(place.path("out.partial")));
  CHECK_FALSE(fs::exists(place.path("out")));
}

TEST_CASE("data stays where a failed run can be gone on with, and the error says so") {
  const Place place;
  const auto left_by = [&](Kind kind, bool has_data) {
    Error error(kind, "failed");
    {
      Output output(place.job());
      output.begin(std::nullopt, false);
      if (has_data) output.fill();
      output.fail(error);
    }
    const bool is_left = fs::remove(place.path("out.partial"));
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
  Job job = place.job(place.path("merged.h5"));
  job.target.single_file = true;
  Output output(job);
  output.begin(std::nullopt, false);
  CHECK(output.file("rank_0.h5") == place.path("merged.h5.partial"));
  CHECK(fs::is_regular_file(place.path("merged.h5.partial")));
  write_text(output.file(""), "merged");
  output.publish();
  CHECK(read_text(place.path("merged.h5")) == "merged");
  CHECK_FALSE(fs::exists(place.path("merged.h5.partial")));
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
  write_text(place.path("out") / "old.h5", "old");
  fs::create_directory(place.path("out.partial"));
  write_text(place.path("out.partial") / "rest.h5", "rest");
  Job job = place.job();
  job.force = true;
  {
    Output output(job);
    output.begin(std::nullopt, false);
    CHECK(fs::is_empty(place.path("out.partial")));
    CHECK(fs::exists(place.path("out") / "old.h5"));  // as long as the new one is not whole
    write_text(output.file("new.h5"), "new");
    output.publish();
  }
  CHECK(fs::exists(place.path("out") / "new.h5"));
  CHECK_FALSE(fs::exists(place.path("out") / "old.h5"));
  std::size_t left = 0;
  for (const auto& entry : fs::directory_iterator(place.path(""))) left += entry.path().filename() == "source" ? 0 : 1;
  CHECK(left == 1);  // no .partial, nothing set aside
}

TEST_CASE("an output stays where --force does not come to its end") {
  const Place place;
  fs::create_directory(place.path("out"));
  write_text(place.path("out") / "old.h5", "old");
  Job job = place.job();
  job.force = true;
  {
    Output output(job);
    output.begin(std::nullopt, false);
  }
  CHECK(read_text(place.path("out") / "old.h5") == "old");
}

TEST_CASE("an output in its source, or over it, is refused even with --force") {
  const Place place;
  for (const fs::path& output :
       {place.source(), place.source() / "out", place.source() / "..", place.path("elsewhere/../source/a/b")}) {
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
  Output output(place.job(place.path("no/such/out")));
  CHECK_THROWS_WITH(output.begin(std::nullopt, false), Contains("out.partial: cannot be made") && Contains("exist"));
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
      Output output(job);
      output.begin("the job", false);
      output.fill();
      Error error(Kind::io, "the disk is full");
      output.fail(error);
      CHECK_THAT(error.what(), Contains("go on with --resume"));
    }
    CHECK_THAT(refused(job)->what(), Contains("go on with --resume, or start anew with --force"));
    job.resume = true;
    {
      Output output(job);
      REQUIRE(output.earlier_job() == "the job");
      output.begin("the job", true);
      CHECK(fs::exists(output.journal() / "job"));
      output.publish();
      CHECK_FALSE(fs::exists(output.journal()));
    }
    CHECK(fs::exists(place.path("out")));
    CHECK_FALSE(fs::exists(place.path("out.partial")));
    CHECK_FALSE(fs::exists(place.path("out.partial.journal")));
  }
}

TEST_CASE("resuming without anything to go on with begins anew") {
  const Place place;
  Job job = place.job();
  fs::create_directory(place.path("out.partial"));
  write_text(place.path("out.partial") / "rank_0.h5", "old");
  job.resume = true;
  Output output(job);
  CHECK_FALSE(output.earlier_job());
  output.begin("the job", false);
  CHECK_FALSE(fs::exists(place.path("out.partial") / "rank_0.h5"));
}
