#include "layout/placement/cut.hpp"

#include "catch.hpp"

using namespace ckpt;
using Numbers = std::vector<std::uint64_t>;

namespace {

CutSpec over(Numbers counts, Uneven uneven = Uneven::exact) {
  CutSpec spec;
  for (Axis axis = 0; axis < counts.size(); ++axis) spec.axes.push_back(axis);
  spec.counts = std::move(counts);
  spec.uneven = uneven;
  return spec;
}

Numbers extents(const DimCut& cut) {
  Numbers extents;
  for (std::uint64_t p = 0; p < cut.pieces(); ++p) extents.push_back(cut.extent(p));
  return extents;
}

std::vector<Span> spans(const DimCut& cut, std::uint64_t piece) {
  std::vector<Span> spans;
  cut.for_each_stored(piece, {0, cut.extent(piece)}, [&](const Span& span) { spans.push_back(span); });
  CHECK(cut.has_spans(piece) == !spans.empty());
  return spans;
}

/// The logical indices of a piece, in stored order.
Numbers indices(const DimCut& cut, std::uint64_t piece) {
  Numbers stored(cut.extent(piece), ~0ULL);
  for (const Span& span : spans(cut, piece))
    for (std::uint64_t i = 0; i < span.logical.size(); ++i) stored.at(span.stored + i) = span.logical.lo + i;
  return stored;
}

bool is_same(const Span& a, const Span& b) {
  return a.logical == b.logical && a.stored == b.stored && a.piece == b.piece && a.fill == b.fill;
}

constexpr std::uint64_t nothing = ~0ULL;

}  // namespace

TEST_CASE("ceil and balanced cut as the specification's examples say") {
  CHECK(extents(DimCut(10, over({4}, Uneven::ceil))) == Numbers{3, 3, 3, 1});
  CHECK(extents(DimCut(10, over({4}, Uneven::balanced))) == Numbers{3, 3, 2, 2});
  CHECK(extents(DimCut(6, over({4}, Uneven::ceil))) == Numbers{2, 2, 2, 0});
  CHECK(extents(DimCut(8, over({4}))) == Numbers{2, 2, 2, 2});
  CHECK(extents(DimCut(3, over({5}, Uneven::balanced))) == Numbers{1, 1, 1, 0, 0});
  CHECK(extents(DimCut(0, over({3}, Uneven::ceil))) == Numbers{0, 0, 0});
}

TEST_CASE("several axes cut one after the other, major first") {
  const DimCut cut(5, over({2, 2}, Uneven::ceil));
  CHECK(extents(cut) == Numbers{2, 1, 1, 1});
  Numbers starts;
  cut.for_each_meeting({0, 5}, [&](const Span& span) { starts.push_back(span.logical.lo); });
  CHECK(starts == Numbers{0, 2, 3, 4});
  // tp 8 and then dp 30 of 4096 rows: 512 for each tp, of which 28 cards hold 18, one the last 8, and one nothing.
  const DimCut large(4096, over({8, 30}, Uneven::ceil));
  for (std::uint64_t tp = 0; tp < 8; ++tp) {
    for (std::uint64_t dp = 0; dp < 28; ++dp) CHECK(large.extent(tp * 30 + dp) == 18);
    CHECK(large.extent(tp * 30 + 28) == 8);
    CHECK(large.extent(tp * 30 + 29) == 0);
    CHECK(spans(large, tp * 30)[0].logical == Interval{512 * tp, 512 * tp + 18});
  }
  CHECK(extents(DimCut(7, over({2, 3}, Uneven::balanced))) == Numbers{2, 1, 1, 1, 1, 1});
}

TEST_CASE("exact refuses what does not divide, in words") {
  CHECK_THROWS_WITH(DimCut(10, over({4})), Catch::Matchers::Contains("10 elements do not divide by 4"));
  CHECK_THROWS_WITH(DimCut(12, over({2, 4})), Catch::Matchers::Contains("6 elements do not divide by 4"));
  CutSpec parts = over({2});
  parts.parts = Parts{0, {3, 5}, 0};
  CHECK_THROWS_AS(DimCut(8, parts), Error);  // each part by itself
}

TEST_CASE("sizes are taken as they are") {
  CutSpec spec = over({3});
  spec.sizes = {3, 0, 4};
  const DimCut cut(7, spec);
  CHECK(extents(cut) == Numbers{3, 0, 4});
  CHECK(spans(cut, 1).empty());
  CHECK(indices(cut, 2) == Numbers{3, 4, 5, 6});
  CHECK(spec.declared_size() == 7);
  CHECK_THROWS_WITH(DimCut(8, spec), Catch::Matchers::Contains("add up to 7"));
}

TEST_CASE("parts are split each by itself and stored one after the other") {
  CutSpec spec = over({2});
  spec.parts = Parts{0, {}, 2};
  const DimCut cut(8, spec);  // g0 g1 g2 g3 u0 u1 u2 u3
  CHECK(indices(cut, 0) == Numbers{0, 1, 4, 5});
  CHECK(indices(cut, 1) == Numbers{2, 3, 6, 7});
  CHECK_FALSE(spec.declared_size().has_value());
  CHECK_THROWS_WITH(DimCut(7, spec), Catch::Matchers::Contains("2 parts"));

  CutSpec fused = over({2}, Uneven::ceil);
  fused.parts = Parts{0, {4, 1, 3}, 0};
  const DimCut qkv(8, fused);
  CHECK(indices(qkv, 0) == Numbers{0, 1, 4, 5, 6});
  CHECK(indices(qkv, 1) == Numbers{2, 3, 7});
  CHECK(fused.declared_size() == 8);
}

TEST_CASE("padding makes all pieces one size") {
  CutSpec spec = over({8});
  spec.pad = Pad{50257, 128, Fill::zero};
  const DimCut cut(50257, spec);
  CHECK(extents(cut) == Numbers(8, 6400));  // 51200 stored
  CHECK(spans(cut, 6)[0].logical == Interval{38400, 44800});
  CHECK(spans(cut, 7)[0].logical == Interval{44800, 50257});

  CutSpec two_axes = over({2, 2});
  two_axes.pad = Pad{5, 1, Fill::zero};
  const DimCut pieces(5, two_axes);
  CHECK(extents(pieces) == Numbers(4, 2));
  CHECK(indices(pieces, 2) == Numbers{4, nothing});
  CHECK(spans(pieces, 3).empty());
  CHECK_THROWS_AS(DimCut(6, two_axes), Error);
}

TEST_CASE("edge padding repeats the last element and is never read") {
  CutSpec spec = over({2});
  spec.pad = Pad{3, 4, Fill::edge};
  const DimCut cut(3, spec);
  CHECK(indices(cut, 0) == Numbers{0, 1, 2, 2});
  CHECK(indices(cut, 1) == Numbers{2, 2, 2, 2});
  std::size_t fills = 0;
  for (std::uint64_t piece : {0U, 1U})
    for (const Span& span : spans(cut, piece)) fills += span.fill ? 1 : 0;
  CHECK(fills == 5);
  cut.for_each_meeting({0, 3}, [&](const Span& span) {
    CHECK_FALSE(span.fill);
    CHECK(span.piece == 0);
  });
  spec.pad->size = 0;
  CHECK(extents(DimCut(0, spec)) == Numbers{0, 0});  // no last element, nothing to fill
}

TEST_CASE("the spans that meet an interval are found in logical order") {
  CutSpec spec = over({3}, Uneven::balanced);
  spec.parts = Parts{0, {5, 0, 4}, 0};
  const DimCut cut(9, spec);
  for (std::uint64_t lo = 0; lo < 9; ++lo)
    for (std::uint64_t hi = lo + 1; hi <= 9; ++hi) {
      std::uint64_t next = lo;
      cut.for_each_meeting({lo, hi}, [&](const Span& span) {
        const Interval met = intersect(span.logical, Interval{lo, hi});
        CAPTURE(lo, hi);
        CHECK(met.lo == next);
        next = met.hi;
      });
      CHECK(next == hi);
    }
}

TEST_CASE("what a piece stores is found from any place in it") {
  CutSpec fused = over({2, 2}, Uneven::ceil);
  fused.parts = Parts{0, {5, 5, 0, 1, 7, 7, 2}, 0};
  CutSpec equal = over({3});
  equal.parts = Parts{0, {}, 9};
  CutSpec sizes = over({4});
  sizes.sizes = {0, 11, 0, 16};
  CutSpec edge = over({4});
  edge.pad = Pad{27, 3, Fill::edge};
  for (const CutSpec& spec : {fused, equal, sizes, edge, over({5}, Uneven::balanced)}) {
    const DimCut cut(27, spec);
    std::uint64_t largest = 0;
    for (std::uint64_t piece = 0; piece < cut.pieces(); ++piece) {
      const auto all = spans(cut, piece);
      largest = std::max(largest, cut.extent(piece));
      for (std::uint64_t lo = 0; lo <= cut.extent(piece); ++lo)
        for (std::uint64_t hi = lo; hi <= cut.extent(piece); ++hi) {
          std::vector<Span> expected;
          for (const Span& span : all)
            if (!intersect(span.local(), Interval{lo, hi}).empty()) expected.push_back(span);
          std::vector<Span> found;
          cut.for_each_stored(piece, {lo, hi}, [&](const Span& span) { found.push_back(span); });
          CAPTURE(piece, lo, hi);
          CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end(), is_same));
        }
    }
    CHECK(cut.largest() == largest);
  }
}

TEST_CASE("spans by piece and spans by index are the same spans") {
  for (const Uneven uneven : {Uneven::ceil, Uneven::balanced})
    for (std::uint64_t n = 0; n < 40; ++n) {
      CutSpec spec = over({3, 4}, uneven);
      spec.parts = Parts{0, {n, n, n / 2}, 0};
      const DimCut cut(2 * n + n / 2, spec);
      std::vector<Span> by_piece;
      for (std::uint64_t piece = 0; piece < cut.pieces(); ++piece)
        for (const Span& span : spans(cut, piece)) by_piece.push_back(span);
      std::sort(by_piece.begin(), by_piece.end(),
                [](const Span& a, const Span& b) { return a.logical.lo < b.logical.lo; });
      std::vector<Span> by_index;
      cut.for_each_meeting({0, cut.size()}, [&](const Span& span) { by_index.push_back(span); });
      CHECK(std::equal(by_index.begin(), by_index.end(), by_piece.begin(), by_piece.end(), is_same));
    }
}

TEST_CASE("a million parts on a million cards are cut without listing them") {
  constexpr std::uint64_t many = 1ULL << 20;
  CutSpec spec = over({many});
  spec.parts = Parts{0, {}, many};
  const DimCut cut(8 * many * many, spec);
  CHECK(cut.extent(many - 1) == 8 * many);
  std::vector<Span> found;
  cut.for_each_stored(many - 1, {8 * many - 3, 8 * many}, [&](const Span& span) { found.push_back(span); });
  cut.for_each_meeting({cut.size() - 3, cut.size()}, [&](const Span& span) { found.push_back(span); });
  REQUIRE(found.size() == 2);
  for (const Span& span : found) CHECK(is_same(span, {{cut.size() - 8, cut.size()}, 8 * many - 8, many - 1, false}));

  spec.pad = Pad{1, many, Fill::edge};
  spec.parts.reset();
  const DimCut padded(1, spec);
  CHECK(padded.has_spans(many - 1));
  std::uint64_t fills = 0;
  padded.for_each_stored(many - 1, {many - 2, many}, [&](const Span& span) { fills += span.fill ? 1 : 0; });
  CHECK(fills == 2);

  CutSpec unequal = over({many}, Uneven::ceil);
  unequal.parts = Parts{0, {}, 0};
  for (std::uint64_t i = 0; i < 17; ++i) unequal.parts->sizes.push_back(1 + i % 2);
  CHECK_THROWS_WITH(DimCut(25, unequal),
                    Catch::Matchers::Contains("17 parts of different sizes, each in 1048576 pieces"));
}

TEST_CASE("specs that differ in anything are told apart") {
  const CutSpec plain = over({2});
  std::vector<CutSpec> specs(9, plain);
  specs[1].uneven = Uneven::ceil;
  specs[2].sizes = {1, 2};
  specs[3].parts = Parts{0, {}, 2};
  specs[4].parts = Parts{0, {1, 2}, 0};
  specs[5].pad = Pad{3, 1, Fill::zero};
  specs[6].pad = Pad{3, 1, Fill::edge};
  specs[7].pad = Pad{0, 1, Fill::zero};
  specs[8].counts = {3};
  for (std::size_t i = 0; i < specs.size(); ++i)
    for (std::size_t j = 0; j < specs.size(); ++j) {
      CAPTURE(i, j);
      CHECK((specs[i] < specs[j] || specs[j] < specs[i]) == (i != j));
    }
}

TEST_CASE("sizes near 2^64 do not overflow") {
  const std::uint64_t huge = ~0ULL - 3;
  CHECK(DimCut(huge, over({5}, Uneven::ceil)).extent(0) == ceil_div(huge, 5));
  CHECK(spans(DimCut(huge, over({7}, Uneven::balanced)), 6)[0].logical.hi == huge);
  CutSpec spec = over({3});
  spec.pad = Pad{huge, 1ULL << 60, Fill::zero};
  CHECK_THROWS_AS(DimCut(huge, spec), Error);
}
