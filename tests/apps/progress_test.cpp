#include "report/progress.hpp"

#include "catch.hpp"
#include "fixtures.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Catch::Matchers::Contains;

TEST_CASE("progress goes where somebody looks") {
  CHECK(parse_progress("", true) == ProgressStyle::bar);
  CHECK(parse_progress("auto", false) == ProgressStyle::lines);
  CHECK(parse_progress("bar", false) == ProgressStyle::bar);
  CHECK(parse_progress("lines", true) == ProgressStyle::lines);
  CHECK(parse_progress("none", true) == ProgressStyle::none);
  const auto error = caught([] { parse_progress("loud", true); });
  CHECK(error.kind == Kind::usage);
  CHECK_THAT(error.message, Contains("--progress: 'loud'"));
}

TEST_CASE("durations are rounded up and take the unit that fits") {
  CHECK(format_duration(-1) == "0 s");
  CHECK(format_duration(0.2) == "1 s");
  CHECK(format_duration(59) == "59 s");
  CHECK(format_duration(185) == "3:05 min");
  CHECK(format_duration(3723) == "1:02:03 h");
}

TEST_CASE("a line tells phase, bytes, rate and the time left as far as they are known") {
  CHECK(progress_line({Phase::catalog, 0, 0, 0}) == "reading metadata");
  CHECK(progress_line({Phase::keys, 0, 0, 0}) == "placing and counting keys");
  CHECK(progress_line({Phase::move, 0, 0, 0}) == "moving");
  CHECK(progress_line({Phase::move, 4096, 1024, 0}) == "moving: 1.0 KiB of 4.0 KiB (25 %)");
  CHECK(progress_line({Phase::move, 4096, 1024, 1024}) == "moving: 1.0 KiB of 4.0 KiB (25 %), 1.0 KiB/s, 3 s left");
  CHECK(progress_line({Phase::move, 1024, 4096, 2}) == "moving: 4.0 KiB of 1.0 KiB (100 %), 2 B/s, 0 s left");
}

TEST_CASE("a bar fills with the bytes and keeps to the terminal's width") {
  const Moment half{Phase::move, 2048, 1024, 0};
  CHECK(progress_bar(half, 100) == "[===============               ] moving: 1.0 KiB of 2.0 KiB (50 %)");
  CHECK(progress_bar(half, 50) == "[=======       ] moving: 1.0 KiB of 2.0 KiB (50 %)");
  CHECK(progress_bar(half, 40) == "moving: 1.0 KiB of 2.0 KiB (50 %)");
  CHECK(progress_bar(half, 10) == "moving: 1.");
}

TEST_CASE("a progress display starts and ends at once") {
  const Counters counters;
  const auto processes = single_process();
  for (const auto style : {ProgressStyle::none, ProgressStyle::lines})
    const Progress progress(counters, style, *processes);
}

TEST_CASE("a rate averages, and is none where nothing moves") {
  const Rate::Clock::time_point begin;
  Rate rate(begin);
  CHECK(rate.update(0, begin + std::chrono::seconds(1)) == 0);
  CHECK(rate.update(1000, begin + std::chrono::seconds(2)) == 1000);
  const double later = rate.update(1000, begin + std::chrono::seconds(6));
  CHECK(later > 0);
  CHECK(later < 1000);
  CHECK(rate.update(1000, begin + std::chrono::seconds(8)) == 0);
  CHECK(rate.update(3000, begin + std::chrono::seconds(9)) == 2000);
}
