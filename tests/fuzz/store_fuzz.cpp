// libFuzzer: hostile files of the format CKPT_FUZZED_FORMAT, or with CKPT_FUZZED_PICKLE hostile pickles in sound
// archives of torch, which mutated bytes hardly ever are. Whatever the bytes, cataloguing them, reading their data
// and, where the format is written, making their like again ends in a result or an Error, within bounds.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "base/checked.hpp"
#include "base/log.hpp"
#include "child_findings.hpp"
#include "io/posix_file.hpp"
#include "spec_of.hpp"
#include "store/stores.hpp"
#include "unit/store/torch_fixture.hpp"

namespace {

using namespace ckpt;
using fixture::spec_of;

constexpr std::uint64_t max_read_bytes = 64U << 10;
constexpr std::uint64_t max_made_bytes = 16U << 20;

/// A file that goes with the object. It needs a name, which HDF5 resolves.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::span<const std::byte> bytes = {}) {
    std::error_code none;
    const std::filesystem::path memory = "/dev/shm";
    path_ =
        ((std::filesystem::exists(memory, none) ? memory : std::filesystem::temp_directory_path()) / "ckpt_fuzz_XXXXXX")
            .string();
    const Fd fd(mkstemp(path_.data()));
    if (!fd) std::abort();
    PosixFile::open_for_writing(path_).write(0, bytes);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// The first elements of a dataset, and its last ones.
void read_some(SourceFile& source, const FileCatalog& catalog, std::size_t index) {
  const StoredArray& array = (*catalog.schema->arrays)[index];
  const Storage storage = catalog.schema->datasets[index].storage;
  if (storage == Storage::empty || storage == Storage::verbatim) return;
  const std::uint64_t elements = numel(array.shape);
  const std::uint64_t count = std::min(elements, max_read_bytes / array.dtype.size);
  std::vector<std::byte> bytes(count * array.dtype.size);
  source.read(index, 0, bytes);
  source.read(index, (elements - count) * array.dtype.size, bytes);
}

std::uint64_t data_bytes(const Schema& schema) {
  std::uint64_t bytes = 0;
  for (const auto& array : *schema.arrays)
    bytes = checked_add(bytes, checked_mul(numel(array.shape), array.dtype.size));
  return bytes;
}

std::string file_of(std::string_view input) {
#ifdef CKPT_FUZZED_PICKLE
  const std::string storage(64, 'a');
  return fixture::zip({{"a/data.pkl", std::string(input)}, {"a/data/0", storage}, {"a/data/1", storage}});
#else
  return std::string(input);
#endif
}

const Format& fuzzed_format() {
  for (const Format& format : formats())
    if (format.name == CKPT_FUZZED_FORMAT) return format;
  std::abort();
}

/// With the source's own tree, where its format has one.
void make_again(Store& store, const Schema& schema, std::string tree) {
  if (data_bytes(schema) > max_made_bytes) return;
  FileSpec spec = spec_of(schema);
  if (!tree.empty()) spec.tree = std::make_shared<const std::string>(std::move(tree));
  const TemporaryFile made;
  store.losses(spec);
  store.create(made.path(), spec);
  store.catalog(made.path());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  log::mute();
  const std::string bytes = file_of({reinterpret_cast<const char*>(data), size});
  const TemporaryFile file(std::as_bytes(std::span(bytes)));
  const Format& format = fuzzed_format();
  const auto store = format.make(std::numeric_limits<std::uint64_t>::max());
  try {
    const FileCatalog catalog = decode_catalog(encode(store->catalog(file.path())));
    const auto source = store->open(file.path(), catalog);
    for (std::size_t i = 0; i < catalog.schema->datasets.size(); ++i) {
      try {
        read_some(*source, catalog, i);
      } catch (const Error&) {
      }
    }
    make_again(*store, *catalog.schema, store->tree(file.path()));
  } catch (const Error&) {
  }
  if (has_finding_in_child()) std::abort();
  return 0;
}
