#include "store/npz/npz_store.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "store/guarded_reading.hpp"
#include "store/npz/npy_header.hpp"
#include "store/offset_file.hpp"
#include "store/read_only_store.hpp"
#include "store/zip/archive.hpp"
#include "store/zip/checked_file.hpp"
#include "store/zip/deflated_data.hpp"
#include "store/zip/zip_directory.hpp"

namespace ckpt {

namespace {

using torch::Deflated;
using torch::DeflatedData;
using torch::ZipEntry;

constexpr const char* npz_name = "npz";
constexpr std::string_view array_ending = ".npy";
/// The name of the array of a file that is one.
constexpr const char* lone_array = "array";

bool is_npy(const PosixFile& file, std::uint64_t file_bytes) {
  return npz::begins_as_npy(file.text(0, std::min<std::uint64_t>(file_bytes, 8)));
}

bool is_npz(const PosixFile& file, std::uint64_t file_bytes) {
  return is_npy(file, file_bytes) || torch::first_entry(file, file_bytes).ends_with(array_ending);
}

/// An array: its header, and its elements in the file.
struct FoundArray {
  std::string name;
  npz::NpyHeader header;
  Interval place;                               ///< of its elements, or of the compressed entry
  std::optional<std::uint64_t> inflated_bytes;  ///< of its elements
};

StoredArray refused(const FoundArray& found, const std::string& what, const std::string& remedy) {
  return unreadable(found.name, Error(Kind::input, "", {what, "numbers", remedy, {Advice::What::leave_out, ""}}));
}

Shape strides_by_columns(const Shape& shape) {
  Shape strides;
  std::uint64_t next = 1;
  for (const std::uint64_t size : shape) {
    strides.push_back(next);
    next = checked_mul(next, std::max<std::uint64_t>(size, 1), "an array");
  }
  return strides;
}

/// Adds an array to a schema. Throws input if its elements are more or less than it has.
void add(const FoundArray& found, std::vector<StoredArray>& arrays, Schema& schema) {
  schema.datasets.emplace_back();
  const auto type = npz::npy_type(found.header.type);
  if (!type) {
    arrays.push_back(refused(found, "found elements of NumPy's type " + found.header.type, "save them as numbers"));
    return;
  }
  const Shape& shape = found.header.shape;
  const std::uint64_t bytes = checked_mul(numel(shape), type->size, "an array");
  const std::uint64_t stored = found.inflated_bytes.value_or(found.place.size());
  if (stored != bytes)
    throw Error(Kind::input, "/" + found.name,
                {std::to_string(stored) + " bytes of elements",
                 std::to_string(bytes) + ", as " + to_string(shape) + " of " + type->name.str() + " has",
                 "is the file damaged?"});
  const bool is_turned = found.header.is_by_columns && shape.size() > 1;
  if (is_turned && found.inflated_bytes) {
    arrays.push_back(refused(found, "found compressed elements whose columns come first",
                             "save it as numpy.ascontiguousarray makes it"));
    return;
  }
  arrays.push_back({found.name, *type, shape, std::nullopt, false, {}});
  if (bytes == 0) return;
  Dataset& dataset = schema.datasets.back();
  dataset.extents = FileExtents(found.place.lo, found.place.size());
  dataset.storage = found.inflated_bytes ? Storage::filtered : is_turned ? Storage::strided : Storage::raw;
  if (is_turned) dataset.strides = strides_by_columns(shape);
}

FoundArray array_in(const PosixFile& file, const ZipEntry& entry) {
  FoundArray found{entry.name.substr(0, entry.name.size() - array_ending.size()), {}, entry.place, {}};
  const std::uint64_t bytes = entry.inflated_bytes.value_or(entry.place.size());
  std::string begin(std::min(bytes, npz::most_header_bytes), '\0');
  if (entry.inflated_bytes)
    DeflatedData(file, entry).read(0, std::as_writable_bytes(std::span(begin)));
  else
    begin = file.text(entry.place.lo, begin.size());
  found.header = with_context(entry.name, [&] { return npz::parse_npy_header(begin); });
  if (entry.inflated_bytes)
    found.inflated_bytes = bytes - found.header.bytes;
  else
    found.place.lo += found.header.bytes;
  return found;
}

Schema read_npz(const PosixFile& file, std::uint64_t file_bytes) {
  std::vector<FoundArray> all;
  if (is_npy(file, file_bytes)) {
    const std::string begin = file.text(0, std::min(file_bytes, npz::most_header_bytes));
    all.push_back({lone_array, npz::parse_npy_header(begin), {0, file_bytes}, {}});
    all.back().place.lo = all.back().header.bytes;
  } else {
    for (const ZipEntry& entry : torch::zip_directory(file, {0, file_bytes}, Deflated::taken)) {
      if (!entry.name.ends_with(array_ending))
        throw Error(Kind::input, entry.name,
                    {"an entry that is no array", "arrays of NumPy alone", "unpack the file, and take the arrays"});
      all.push_back(array_in(file, entry));
    }
  }
  std::sort(all.begin(), all.end(), [](const FoundArray& a, const FoundArray& b) { return a.name < b.name; });
  Schema schema;
  schema.format = npz_name;
  std::vector<StoredArray> arrays;
  for (const FoundArray& found : all) add(found, arrays, schema);
  schema.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
  return schema;
}

std::shared_ptr<const Schema> npz_schema(const PosixFile& file, std::uint64_t file_bytes) {
  return std::make_shared<const Schema>(read_npz(file, file_bytes));
}

std::vector<ZipEntry> compressed_entries(const PosixFile& file, std::uint64_t file_bytes) {
  std::vector<ZipEntry> entries = torch::zip_directory(file, {0, file_bytes}, Deflated::taken);
  std::erase_if(entries, [](const ZipEntry& entry) { return !entry.inflated_bytes; });
  return entries;
}

/// A file whose compressed arrays are inflated while they are read.
class NpzSource final : public OffsetFile {
 public:
  using OffsetFile::OffsetFile;

 private:
  void read_by_format(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    std::call_once(are_known_, [&] {
      for (ZipEntry& entry :
           read_guarded<compressed_entries>(file(), bytes(), npz_name, torch::limits_of_file(bytes())))
        entries_.emplace(entry.place.lo, std::make_unique<Entry>(file(), std::move(entry)));
    });
    const auto found = entries_.find(schema()->datasets.at(dataset).extents.offset());
    const std::uint64_t array = bytes_of((*schema()->arrays)[dataset]);
    if (found == entries_.end() || found->second->inflated_bytes < array)
      throw Error(Kind::input, "", {"is elsewhere now", "where it was", "is the file still being written?"});
    found->second->data.read(found->second->inflated_bytes - array + offset, out);
  }

  struct Entry {
    Entry(const PosixFile& file, ZipEntry entry)
        : inflated_bytes(*entry.inflated_bytes), data(file, std::move(entry)) {}
    std::uint64_t inflated_bytes;  ///< with the array's header
    DeflatedData data;
  };

  std::once_flag are_known_;
  std::map<std::uint64_t, std::unique_ptr<Entry>> entries_;  // by their first byte
};

class NpzStore final : public ReadOnlyStore {
 public:
  std::string_view name() const noexcept override { return npz_name; }

  bool recognises(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return is_npz(file, file.status().bytes);
  }

  FileCatalog catalog(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    const PosixFile::Status status = file.status();
    if (!is_npz(file, status.bytes)) throw misses_file(path, "is no file of NumPy's arrays");
    auto schema = with_file(path.string(), [&] {
      return read_guarded<npz_schema>(file, status.bytes, npz_name, torch::limits_of_file(status.bytes));
    });
    return {std::move(schema), status.bytes, status.modified_ns};
  }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& path, const FileCatalog& catalog) override {
    auto source = std::make_unique<NpzSource>(path, catalog);
    const PosixFile file = PosixFile::open_for_reading(path);
    if (is_npy(file, catalog.bytes)) return source;
    return checked_.checked(std::move(source), path, catalog);
  }

 private:
  torch::CheckedFiles checked_;
};

}  // namespace

std::unique_ptr<Store> npz_store() {
  return std::make_unique<NpzStore>();
}

}  // namespace ckpt
