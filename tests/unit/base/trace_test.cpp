#include "base/trace.hpp"

#include <map>
#include <thread>

#include "catch.hpp"

using namespace ckpt;

namespace {

using Moment = trace::Clock::time_point;

Moment at(std::int64_t ns) {
  return Moment(std::chrono::nanoseconds(ns));
}

void note(const char* name, std::int64_t begin, std::int64_t length) {
  trace::note(name, at(begin), at(begin + length));
}

/// Whether the spans of a row, in the order of their ends, lie within phases or apart.
bool is_nested(const trace::Row& row) {
  trace::Ns last_end = 0;
  trace::Ns last_phase_end = 0;
  for (const trace::Span& span : row.spans) {
    const trace::Ns end = span.begin + span.length;
    if (span.begin < (span.is_phase ? last_phase_end : last_end) || end < last_end) return false;
    last_end = end;
    if (span.is_phase) last_phase_end = end;
  }
  return true;
}

}  // namespace

// One case: a process records from `begin` to its end.
TEST_CASE("a trace") {
  note("early", 0, 1);
  CHECK(trace::rows().empty());
  trace::begin(128);
  trace::note_phase("plan", at(0), at(500));
  note("exchange", 1000, 200);
  trace::note_phase("move", at(500), at(4000));

  for (int n = 0; n < 2; ++n) {  // the second thread takes over the row of the first
    std::thread([n] {
      constexpr std::int64_t pieces = 100'000;
      for (std::int64_t i = 0; i < pieces; ++i) {
        const std::int64_t begin = (n * pieces + i) * 50'000;
        note("read", begin, 10'000 + i % 7);
        note("read", begin + 15'000, 10'000);
        note("write", begin + 30'000, 20'000 - i % 7);
      }
    }).join();
  }
  const auto rows = trace::rows();
  REQUIRE(rows.size() == 2);
  REQUIRE(rows[0].spans.size() == 3);
  CHECK(rows[0].spans[1].name == "exchange");
  CHECK(rows[1].spans.size() < 128);
  CHECK(rows[1].spans.size() > 32);
  for (const trace::Row& row : rows) CHECK(is_nested(row));
  std::map<std::string, trace::Ns> sums;
  for (const trace::Span& span : rows[1].spans) sums[span.name] += span.length;
  CHECK(sums["read"] + sums["write"] == 200'000LL * 40'000);
  CHECK(sums["read"] > 200'000LL * 20'000);
}

TEST_CASE("what is timed is added up, whether a trace is on or not") {
  std::atomic<std::uint64_t> total{0};
  { const trace::Timed timed("read", total); }
  CHECK(total > 0);
}
