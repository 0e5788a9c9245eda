#include <sys/resource.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "io/posix_file.hpp"
#include "unit/checkpoint/gather_fixture.hpp"

using namespace ckpt;
using fixture::Bytes;
using fixture::numbered;
using fixture::transfer;

namespace {

/// A file of one dataset in memory, which counts how it is read.
class MemoryFile final : public SourceFile {
 public:
  explicit MemoryFile(std::uint64_t size) : bytes_(numbered(size)) {}
  void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    if (dataset != 5 || offset + out.size() > bytes_.size()) throw Error(Kind::input, "read beyond the dataset");
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    ++reads;
    bytes_read += out.size();
    largest = std::max<std::uint64_t>(largest, out.size());
  }
  PartialSum sum_rest(const std::optional<FileSegment>& /*left_out*/) override { return {}; }
  const Bytes& bytes() const { return bytes_; }

  std::uint64_t reads = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t largest = 0;

 private:
  Bytes bytes_;
};

/// The same bytes in a file on disk, which may be mapped or read.
class MappedSource final : public SourceFile {
 public:
  MappedSource(PosixFile file, std::uint64_t start) : file_(std::move(file)), start_(start), status_(file_.status()) {}
  void read(std::size_t /*dataset*/, std::uint64_t offset, std::span<std::byte> out) override {
    file_.read(start_ + offset, out);
    ++reads;
  }
  std::optional<LocatedExtent> located(std::size_t /*dataset*/, std::uint64_t /*offset*/) const override {
    return LocatedExtent{{file_.fd(), &file_.path(), status_.device, status_.inode, status_.bytes},
                         {0, start_, status_.bytes - start_}};
  }
  PartialSum sum_rest(const std::optional<FileSegment>& /*left_out*/) override { return {}; }
  const PosixFile& file() const noexcept { return file_; }

  std::uint64_t reads = 0;

 private:
  PosixFile file_;
  std::uint64_t start_;
  PosixFile::Status status_;
};

struct MappedFile {
  explicit MappedFile(const Bytes& bytes) {
    PosixFile file = PosixFile::create(directory / "data");
    file.write(start, bytes);
    file.sync();
    source = std::make_unique<MappedSource>(std::move(file), start);
  }
  static constexpr std::uint64_t start = 1000;
  fixture::TemporaryDirectory directory;
  std::unique_ptr<MappedSource> source;
};

/// The same bytes in a file on disk in extents of different sizes, none where its neighbour would expect it.
class SlicedFile {
 public:
  explicit SlicedFile(const Bytes& bytes) {
    std::vector<Interval> slices;  // of the dataset
    for (std::uint64_t at = 0, size = 1; at < bytes.size(); at += size, size = size * 3 % 300'007 + 1)
      slices.push_back({at, std::min<std::uint64_t>(at + size, bytes.size())});
    const PosixFile file = PosixFile::create(directory_ / "data");
    std::vector<Interval> in_file(slices.size());
    std::uint64_t end = 0;
    for (std::size_t i = slices.size(); i-- > 0;) {  // the last one first
      in_file[i] = {end + 1, end + 1 + slices[i].size()};
      file.write(in_file[i].lo, std::span(bytes).subspan(slices[i].lo, slices[i].size()));
      end = in_file[i].hi;
    }
    auto schema = std::make_shared<Schema>();
    schema->arrays = std::make_shared<const std::vector<StoredArray>>(
        1, StoredArray{"sliced", *number_type("u8"), {bytes.size()}, std::nullopt, false});
    schema->datasets = {{Storage::raw, FileExtents(in_file), {}, {}, {}, 0, 0, {}, {}}};
    source = std::make_unique<OffsetFile>(directory_ / "data", FileCatalog{schema, end, 0});
  }

 private:
  fixture::TemporaryDirectory directory_;

 public:
  std::unique_ptr<OffsetFile> source;
};

/// The same bytes in memory, where reads are counted, some way behind the start of a file that can be mapped, and in
/// many extents of another one.
struct ThreeFiles {
  explicit ThreeFiles(std::uint64_t size) : memory(size), mappable(memory.bytes()), sliced(memory.bytes()) {}
  MemoryFile memory;
  MappedFile mappable;
  SlicedFile sliced;
};

/// Windows that no file can be mapped into, since there are no addresses left for them.
MappedWindows refused_windows() {
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit low{mapped_bytes(), before.rlim_max};
  setrlimit(RLIMIT_AS, &low);
  struct Restored {
    const rlimit& limit;
    ~Restored() { setrlimit(RLIMIT_AS, &limit); }
  } restored{before};
  return MappedWindows(1 << 20);
}

/// From blocks of the file.
GatherResult gather_past_memory(const MappedFile& file, const Transfer& wanted, const Summing& summing, Bytes& target,
                                Bytes& scratch) {
  MappedWindows windows(1 << 20);
  constexpr std::uint64_t number = 7;
  DirectBlocks blocks(DirectBlocks::least_memory, 1, [&](std::uint64_t, std::uint64_t start, std::span<std::byte> out) {
    file.source->file().read(start, out);
    return DirectReadStatus::read;
  });
  Lease lease;
  const auto span = stored_span(*file.source, 0, wanted);
  const Interval in_file{MappedFile::start + span->bytes.lo, MappedFile::start + span->bytes.hi};
  blocks.want(number, file.source->located(0, 0)->file.bytes, in_file, lease);
  const std::uint64_t before = file.source->reads;
  const GatherResult gathered =
      gather(*file.source, 0, wanted, &summing, target.data(), scratch, {windows, &blocks, number});
  if (!span->bytes.empty() && in_file.size() < DirectBlocks::least_memory / 2) CHECK(file.source->reads == before);
  return gathered;
}

/// Gathers from all and compares with the strided copy from memory, and the sum with that of the source in memory.
void check(ThreeFiles& file, const Transfer& wanted, std::uint64_t target_size, std::uint64_t scratch_size,
           std::uint64_t windows_budget = 1 << 20) {
  const std::byte* source = file.memory.bytes().data() + wanted.source.offset * wanted.element;
  const Summing summing{row_major_strides(wanted.source.box.shape())};
  const PartialSum sum = sum_of(wanted.source, wanted.element, source, summing.tensor_strides);
  Bytes expected(target_size);
  run(wanted.copy(), source, expected.data());
  Bytes scratch(scratch_size);
  take_bus_errors();
  MappedWindows windows(windows_budget);
  file.memory.reads = file.memory.bytes_read = 0;
  Bytes target(target_size);
  const GatherResult told = gather(file.memory, 5, wanted, &summing, target.data(), scratch, {windows});
  Bytes mapped(target_size);
  CHECK(gather(*file.mappable.source, 5, wanted, &summing, mapped.data(), scratch, {windows}).sum == sum);
  CHECK((mapped == expected));
  Bytes small(target_size);
  const std::uint64_t reads = file.mappable.source->reads;
  CHECK(gather(*file.mappable.source, 5, wanted, &summing, small.data(), scratch, {windows, {}, nullptr, true}).sum ==
        sum);
  CHECK((small == expected));
  file.mappable.source->reads = reads;
  Bytes sliced(target_size);
  CHECK(gather(*file.sliced.source, 0, wanted, &summing, sliced.data(), scratch, {windows}).sum == sum);
  CHECK((sliced == expected));
  Bytes direct(target_size);
  CHECK(gather_past_memory(file.mappable, wanted, summing, direct, scratch).sum == sum);
  CHECK((direct == expected));
  CHECK((target == expected));
  CHECK(told.bytes_read == file.memory.bytes_read);
  CHECK(told.sum == sum);
  CHECK(sum.bytes == wanted.bytes());
  CHECK(gather(file.memory, 5, wanted, nullptr, target.data(), scratch, {windows}).sum == PartialSum{});
  file.memory.reads /= 2;
  file.memory.bytes_read /= 2;
}

}  // namespace

TEST_CASE("a run is read at once, straight to its place") {
  ThreeFiles file(1 << 20);
  check(file, transfer({1 << 18}, {1}, {1}, 2, 500), 1 << 19, 64);
  CHECK(file.memory.reads == 1);
  CHECK(file.memory.bytes_read == 1 << 19);
}

TEST_CASE("short runs close together are read as one window") {
  ThreeFiles file(1 << 20);
  check(file, transfer({256, 2}, {1024, 1}, {2, 1}, 4, 0), 2048, 1 << 20);  // two columns of 1024
  CHECK(file.memory.reads == 1);
}

TEST_CASE("a window that scratch cannot hold is read in parts") {
  ThreeFiles file(1 << 20);
  check(file, transfer({256, 512}, {1024, 1}, {512, 1}, 4, 0), 256 * 512 * 4, 100'000);  // half of each row
  CHECK(file.memory.reads == 11);                                                        // 24 rows in each
}

TEST_CASE("runs far apart are read one by one") {
  ThreeFiles file(4 << 20);
  check(file, transfer({16, 4}, {60'000, 1}, {4, 1}, 4, 0), 256, 4 << 20);
  CHECK(file.memory.reads == 16);
  CHECK(file.memory.bytes_read == 256);
}

TEST_CASE("without scratch there is a read for each run") {
  ThreeFiles file(1 << 16);
  check(file, transfer({10, 3}, {20, 1}, {3, 1}, 4, 2), 120, 0);
  CHECK(file.memory.reads == 10);
}

TEST_CASE("nothing is read for nothing") {
  ThreeFiles file(16);
  check(file, transfer({0, 3}, {3, 1}, {3, 1}, 4, 0), 0, 16);
  CHECK(file.memory.reads == 0);
}

TEST_CASE("gathering is what copying from memory is, whatever the strides and the scratch") {
  std::mt19937_64 engine(11);
  const auto between = [&](std::uint64_t low, std::uint64_t high) { return low + engine() % (high - low + 1); };
  ThreeFiles file(3 << 20);
  for (int i = 0; i < 600; ++i) {
    Shape shape;
    for (std::uint64_t rank = between(0, 4); rank > 0; --rank) shape.push_back(between(1, 9));
    std::vector<std::size_t> order(shape.size());
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
    std::shuffle(order.begin(), order.end(), engine);
    Shape strides(shape.size());
    const std::uint64_t element = between(1, 12);
    std::uint64_t size = 1;
    for (const std::size_t d : order) {
      strides[d] = size;
      size *= shape[d] + (between(0, 1) == 0 ? 0 : between(0, 12));
    }
    const StridedCopy copy = strided_copy(shape, strides, row_major_strides(shape), element);
    const std::uint64_t first = between(0, (file.memory.bytes().size() - copy.source_span()) / element);
    const std::uint64_t scratch = between(0, 2) == 0 ? 1 << 20 : between(0, 5000);
    CAPTURE(to_string(shape), to_string(strides), element, scratch);
    check(file, transfer(shape, strides, row_major_strides(shape), element, first), numel(shape) * element, scratch);
    const std::uint64_t runs = copy.bytes() / copy.run;
    CHECK(file.memory.reads <= runs);
    CHECK(file.memory.bytes_read < copy.bytes() + runs * 8192 + 1);  // no more than a read for each run would cost
  }
}

TEST_CASE("a copy that reaches further than a mapped window, or than scratch, is divided") {
  ThreeFiles file(3 << 20);
  for (const std::uint64_t budget : {1ULL, 256ULL << 10, 1ULL << 20, 64ULL << 20})
    for (const std::uint64_t scratch : {0U, 1000U, 65536U, 1U << 20}) {
      check(file, transfer({700, 60}, {1000, 1}, {60, 1}, 4, 16), 168'000, scratch, budget);
      check(file, transfer({50, 7, 60}, {9000, 1000, 1}, {60, 3000, 1}, 4, 2), 84'000, scratch, budget);
      check(file, transfer({300, 2000}, {1, 300}, {2000, 1}, 1, 0), 600'000, scratch, budget);  // transposed
    }
}

TEST_CASE("of a file that can be mapped, long and dense runs are read, scattered ones are not") {
  ThreeFiles file(3 << 20);
  const auto reads_for = [&](const Shape& shape, const Shape& strides, const Shape& target_strides) {
    file.mappable.source->reads = 0;
    check(file, transfer(shape, strides, target_strides, 4, 0), 4 * shape[0] * target_strides[0], 256 << 10, 64 << 20);
    return file.mappable.source->reads;
  };
  CHECK(reads_for({100'000}, {1}, {1}) == 1);              // one run
  CHECK(reads_for({200, 100}, {100, 1}, {130, 1}) == 1);   // whole rows of the source: 80 KB in one stretch
  CHECK(reads_for({2000, 100}, {100, 1}, {130, 1}) == 4);  // more than the scratch holds
  CHECK(reads_for({200, 100}, {110, 1}, {100, 1}) == 1);   // nearly whole rows
  CHECK(reads_for({200, 100}, {300, 1}, {100, 1}) == 0);   // a third of each row
  CHECK(reads_for({20, 10}, {300, 1}, {10, 1}) == 1);      // little in all
}

TEST_CASE("short runs of a file of small arrays are mapped") {
  const MappedFile file(numbered(1 << 16));
  MappedWindows windows(1 << 20);
  const auto reads_for = [&](std::uint64_t elements, bool has_small_arrays) {
    Bytes target(4 * elements);
    file.source->reads = 0;
    gather(*file.source, 5, transfer({elements}, {1}, {1}, 4, 3), nullptr, target.data(), {},
           {windows, {}, nullptr, has_small_arrays});
    return file.source->reads;
  };
  take_bus_errors();
  CHECK(reads_for(56, false) == 1);
  CHECK(reads_for(56, true) == 0);
  CHECK(reads_for(1024, true) == 0);
  CHECK(reads_for(1025, true) == 1);  // more than a page
  file.source->file().resize(0);
  CHECK_THROWS_WITH(reads_for(56, true), Catch::Matchers::Contains("data: ended while it was read"));
}

TEST_CASE("what the file throws comes through") {
  MemoryFile file(100);
  Bytes target(8);
  MappedWindows windows(1 << 20);
  CHECK_THROWS_AS(gather(file, 5, transfer({2}, {1}, {1}, 4, 24), nullptr, target.data(), {}, {windows}), Error);
}

TEST_CASE("a mapped file that is truncated while it is read is an error that names it") {
  const Bytes bytes(1 << 20);
  const MappedFile mappable(bytes);
  take_bus_errors();
  MappedWindows windows(1 << 20);
  Bytes target(1 << 10);
  const Transfer column = transfer({256}, {1024}, {1}, 4, 0);
  gather(*mappable.source, 5, column, nullptr, target.data(), {}, {windows});
  mappable.source->file().resize(1 << 18);
  CHECK_THROWS_WITH(gather(*mappable.source, 5, column, nullptr, target.data(), {}, {windows}),
                    Catch::Matchers::Contains("data: ended while it was read"));
}

TEST_CASE("what cannot be mapped is read, to the same bytes and sums") {
  Bytes bytes(1 << 20);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 7);
  const MappedFile mappable(bytes);
  const Transfer columns = transfer({256, 3}, {1024, 200}, {3, 1}, 4, 40);
  const Summing summing{row_major_strides(columns.source.box.shape())};
  Bytes scratch(8 << 10);
  const auto gathered = [&](MappedWindows& windows) {
    Bytes target(columns.bytes());
    const std::uint64_t before = mappable.source->reads;
    const GatherResult told = gather(*mappable.source, 5, columns, &summing, target.data(), scratch, {windows});
    return std::tuple(target, told.sum.low, told.sum.high, mappable.source->reads > before);
  };
  take_bus_errors();
  MappedWindows windows(1 << 20);
  MappedWindows refused = refused_windows();
  auto expected = gathered(windows);
  CHECK_FALSE(std::get<bool>(expected));
  std::get<bool>(expected) = true;
  CHECK((gathered(refused) == expected));
}

namespace {

/// A matrix in columns of chunks of which memory holds one: counts how often another one is decoded.
class ColumnChunks final : public SourceFile {
 public:
  ColumnChunks(std::uint64_t row_bytes, std::uint64_t chunk_bytes) : row_bytes_(row_bytes), chunk_bytes_(chunk_bytes) {}
  void read(std::size_t /*dataset*/, std::uint64_t offset, std::span<std::byte> out) override {
    for (std::uint64_t i = 0; i < out.size(); ++i) {
      const std::uint64_t chunk = (offset + i) % row_bytes_ / chunk_bytes_;
      if (chunk != held_) ++decoded;
      held_ = chunk;
      out[i] = static_cast<std::byte>((offset + i) * 7 + (offset + i) / 256);
    }
  }
  PartialSum sum_rest(const std::optional<FileSegment>& /*left_out*/) override { return {}; }

  std::uint64_t decoded = 0;

 private:
  std::uint64_t row_bytes_;
  std::uint64_t chunk_bytes_;
  std::uint64_t held_ = ~std::uint64_t{0};
};

}  // namespace

TEST_CASE("rows in columns of chunks are gathered one chunk after another") {
  const std::uint64_t columns = 4096;
  const std::uint64_t rows = 64;
  ColumnChunks file(columns, 1024);
  MappedWindows windows(1 << 20);
  const Transfer wanted = transfer({rows, 2048}, {columns, 1}, {2048, 1}, 1, 2048);  // two of four columns of chunks
  Bytes target(rows * 2048);
  Bytes scratch(64 << 10);
  GatherContext context{windows};
  SECTION("with the grid") {
    context.grid.emplace(Shape{rows, columns}, Shape{rows, 1024});
    gather(file, 0, wanted, nullptr, target.data(), scratch, context);
    CHECK(file.decoded == 2);
  }
  SECTION("without it, the same bytes come") {
    gather(file, 0, wanted, nullptr, target.data(), scratch, context);
    CHECK(file.decoded > rows);
  }
  for (std::uint64_t i = 0; i < target.size(); ++i) {
    const std::uint64_t at = i / 2048 * columns + 2048 + i % 2048;
    REQUIRE(target[i] == static_cast<std::byte>(at * 7 + at / 256));
  }
}
