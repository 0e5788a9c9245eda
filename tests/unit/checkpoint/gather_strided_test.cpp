#include <random>

#include "catch.hpp"
#include "unit/checkpoint/gather_fixture.hpp"

using namespace ckpt;
using fixture::Bytes;
using fixture::numbered;
using fixture::transfer;

namespace {

/// A dataset of bytes in memory whose elements lie at strides of their own.
class StridedMemory final : public SourceFile {
 public:
  StridedMemory(const Bytes& bytes, StridedForm form, std::uint64_t element)
      : bytes_(bytes), form_(std::move(form)), element_(element) {}
  std::optional<StridedForm> strided(std::size_t /*dataset*/) const override { return form_; }
  void read(std::size_t /*dataset*/, std::uint64_t offset, std::span<std::byte> out) override {
    const Shape row_major = row_major_strides(form_.shape);
    for (std::uint64_t i = 0; i < out.size(); ++i) {
      std::uint64_t at = 0;
      for (std::size_t d = 0; d < form_.shape.size(); ++d)
        at += (offset + i) / element_ / row_major[d] % form_.shape[d] * form_.strides[d];
      out[i] = bytes_.at(at * element_ + (offset + i) % element_);
    }
    ++turned;
  }
  void read_as_stored(std::size_t /*dataset*/, std::uint64_t offset, std::span<std::byte> out) override {
    if (offset + out.size() > bytes_.size()) throw Error(Kind::input, "read beyond the dataset");
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    ++reads;
    bytes_read += out.size();
  }
  PartialSum sum_rest(const std::optional<FileSegment>& /*left_out*/) override { return {}; }

  std::uint64_t reads = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t turned = 0;  // reads in row-major order

 private:
  const Bytes& bytes_;
  StridedForm form_;
  std::uint64_t element_;
};

/// The same bytes in a file, which can be mapped.
class StridedFile {
 public:
  StridedFile(const Bytes& bytes, const StridedForm& form, const DType& dtype) {
    PosixFile::create(directory_ / "data").write(3, bytes);
    auto schema = std::make_shared<Schema>();
    schema->arrays = std::make_shared<const std::vector<StoredArray>>(
        1, StoredArray{"strided", dtype, form.shape, std::nullopt, false});
    Dataset dataset;
    dataset.storage = Storage::strided;
    dataset.extents = FileExtents(3, bytes.size());
    dataset.strides = form.strides;
    schema->datasets = {std::move(dataset)};
    source = std::make_unique<OffsetFile>(directory_ / "data", FileCatalog{schema, bytes.size() + 3, 0});
  }

 private:
  fixture::TemporaryDirectory directory_;

 public:
  std::unique_ptr<OffsetFile> source;
};

/// Gathers a part of a strided dataset in both ways, and holds it against what row-major reads give.
void check_strided(StridedMemory& memory, StridedFile& file, const Transfer& wanted, std::uint64_t scratch_bytes) {
  const std::uint64_t all = wanted.source.offset * wanted.element + wanted.copy().source_span();
  Bytes row_major(all);
  memory.read(0, 0, row_major);
  const std::byte* const source = row_major.data() + wanted.source.offset * wanted.element;
  const Summing summing{row_major_strides(wanted.source.box.shape())};
  const PartialSum sum = sum_of(wanted.source, wanted.element, source, summing.tensor_strides);
  Bytes expected(wanted.bytes());
  run(wanted.copy(), source, expected.data());
  take_bus_errors();
  MappedWindows windows(1 << 20);
  Bytes scratch(scratch_bytes);
  memory.reads = memory.bytes_read = memory.turned = 0;
  for (SourceFile* each : {static_cast<SourceFile*>(&memory), static_cast<SourceFile*>(file.source.get())}) {
    Bytes target(wanted.bytes());
    CHECK(gather(*each, 0, wanted, &summing, target.data(), scratch, {windows}).sum == sum);
    CHECK((target == expected));
  }
}

}  // namespace

TEST_CASE("of a transposed dataset the file's own runs are read, not its elements") {
  const Bytes bytes = numbered(4 << 20);
  const StridedForm transposed{{1024, 1024}, {1, 1024}};
  StridedMemory memory(bytes, transposed, 4);
  StridedFile file(bytes, transposed, *number_type("f32"));
  check_strided(memory, file, transfer({1024, 1024}, {1024, 1}, {1024, 1}, 4, 0), 1 << 20);  // whole
  CHECK(memory.turned == 0);
  CHECK(memory.reads == 4);
  check_strided(memory, file, transfer({1024, 256}, {1024, 1}, {256, 1}, 4, 256), 1 << 20);  // one run of the file
  CHECK(memory.turned == 0);
  CHECK(memory.reads == 1);
  check_strided(memory, file, transfer({256, 1024}, {1024, 1}, {1024, 1}, 4, 256 * 1024),
                1 << 20);  // a quarter of each
  CHECK(memory.turned == 0);
  CHECK(memory.reads <= 8);
  check_strided(memory, file, transfer({1 << 20}, {1}, {1}, 4, 0), 1 << 20);  // no region of the file
  CHECK(memory.turned == 1);
  CHECK(memory.reads == 0);
}

TEST_CASE("runs of a transposed dataset that lie far apart are read one by one") {
  const Bytes bytes = numbered(4 << 20);
  const StridedForm transposed{{8192, 128}, {1, 8192}};
  StridedMemory memory(bytes, transposed, 4);
  StridedFile file(bytes, transposed, *number_type("f32"));
  check_strided(memory, file, transfer({16, 128}, {128, 1}, {128, 1}, 4, 160 * 128), 1 << 20);
  CHECK(memory.reads == 128);
  CHECK(memory.bytes_read == 16 * 128 * 4);
}

TEST_CASE("gathering from any strides is what row-major reading is") {
  std::mt19937_64 engine(17);
  const auto between = [&](std::uint64_t low, std::uint64_t high) { return low + engine() % (high - low + 1); };
  const Bytes bytes = numbered(1 << 20);
  for (int i = 0; i < 300; ++i) {
    StridedForm form;
    for (std::uint64_t rank = between(1, 4); rank > 0; --rank) {
      form.shape.push_back(between(1, 7));
      form.strides.push_back(between(0, 3) == 0 ? 0 : between(1, 5000));
    }
    StridedMemory memory(bytes, form, 4);
    StridedFile file(bytes, form, *number_type("f32"));
    const Shape row_major = row_major_strides(form.shape);
    Shape size;
    std::uint64_t first = 0;
    for (std::size_t d = 0; d < form.shape.size(); ++d) {
      const std::uint64_t lo = between(0, form.shape[d] - 1);
      size.push_back(between(1, form.shape[d] - lo));
      first += lo * row_major[d];
    }
    CAPTURE(to_string(form.shape), to_string(form.strides), to_string(size), first);
    check_strided(memory, file, transfer(size, row_major, row_major_strides(size), 4, first), between(0, 100'000));
    CHECK(memory.turned == 0);
  }
}
