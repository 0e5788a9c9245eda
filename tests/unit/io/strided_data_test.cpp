#include "io/strided_data.hpp"

#include <cstring>
#include <random>

#include "catch.hpp"
#include "small_files.hpp"
#include "tensor/box.hpp"

using namespace ckpt;

namespace {

/// Bytes that are all different over a few of them.
std::string pattern(std::size_t bytes) {
  std::string all(bytes, '\0');
  std::mt19937 dice(7);
  for (char& each : all) each = static_cast<char>(dice());
  return all;
}

/// Element by element.
std::string expected(const std::string& file, const StridedData& data) {
  std::string all;
  for_each_box(data.shape, {0, numel(data.shape)}, [&](const Box& box) {
    const Shape strides = row_major_strides(data.shape);
    const std::uint64_t count = numel(box.shape());
    std::uint64_t first = 0;
    for (std::size_t d = 0; d < box.rank(); ++d) first += box.lo[d] * strides[d];
    for (std::uint64_t i = first; i < first + count; ++i) {
      std::uint64_t at = 0;
      for (std::size_t d = 0; d < data.shape.size(); ++d) at += i / strides[d] % data.shape[d] * data.strides[d];
      all += file.substr(data.offset + at * data.element, data.element);
    }
  });
  return all;
}

std::string part_of(const PosixFile& file, const StridedData& data, std::uint64_t first, std::uint64_t bytes) {
  std::string out(bytes, '\0');
  read_strided(file, data, first, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST_CASE("Strided elements are read in row-major order, whole and in parts") {
  const fixture::TemporaryDirectory folder;
  const std::string bytes = pattern(1'000'000);
  fixture::put_bytes(folder / "a", bytes);
  const PosixFile file = PosixFile::open_for_reading(folder / "a");
  const std::vector<StridedData> all{{3, 4, {40, 60}, {1, 40}},      // transposed
                                     {0, 2, {50, 20}, {100, 2}},     // every second column
                                     {8, 4, {10, 5}, {5000, 1}},     // far apart
                                     {16, 8, {6, 5, 4}, {0, 4, 1}},  // expanded
                                     {0, 1, {7, 3, 5, 2}, {11, 1000, 77, 5000}},
                                     {5, 16, {9, 9}, {3, 2}},  // overlapping
                                     {0, 4, {}, {}},
                                     {0, 2, {3}, {0}}};
  std::mt19937 dice(3);
  for (const StridedData& data : all) {
    CAPTURE(data.shape.size(), data.element);
    const std::string whole = expected(bytes, data);
    CHECK((part_of(file, data, 0, whole.size()) == whole));
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t first = dice() % (whole.size() + 1);
      const std::uint64_t count = dice() % (whole.size() + 1 - first);
      CHECK((part_of(file, data, first, count) == whole.substr(first, count)));
    }
  }
}

TEST_CASE("What is larger than what is gathered at once is read in blocks") {
  const fixture::TemporaryDirectory folder;
  const std::string bytes = pattern(6'000'000);
  fixture::put_bytes(folder / "a", bytes);
  const PosixFile file = PosixFile::open_for_reading(folder / "a");
  for (const StridedData& data :
       {StridedData{0, 4, {1000, 1500}, {1, 1000}}, StridedData{0, 1, {3, 2'000'000}, {1, 3}},
        StridedData{0, 4, {4, 3, 100'000}, {0, 1, 3}}, StridedData{0, 4, {2, 700'000}, {700'000, 1}}}) {
    const std::string whole = expected(bytes, data);
    CHECK((part_of(file, data, 0, whole.size()) == whole));
    CHECK((part_of(file, data, 4004, 2'000'002) == whole.substr(4004, 2'000'002)));
  }
}

}  // namespace
