#include "store/hdf5/filtered_data.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/buffer.hpp"
#include "base/checked.hpp"
#include "store/chunked_array.hpp"
#include "store/hdf5/read_schema.hpp"

namespace ckpt::hdf5 {

namespace {

/// Limit on open datasets of all files together: opening one takes HDF5 about 50 µs.
constexpr std::size_t max_open = 64;

/// Disables HDF5's chunk cache: DecodedChunks keeps decoded chunks, and counts them.
PropertyId without_cache() {
  auto access = own<PropertyId>(H5Pcreate(H5P_DATASET_ACCESS), "H5Pcreate");
  check(H5Pset_chunk_cache(access.get(), 1, 0, H5D_CHUNK_CACHE_W0_DEFAULT), "H5Pset_chunk_cache");
  return access;
}

[[noreturn]] void refuse_change() {
  throw Error(Kind::input, "",
              {"has changed since the file was catalogued", "", "is the checkpoint still being written?"});
}

const hsize_t* numbers(const Shape& extents) {
  static_assert(sizeof(hsize_t) == sizeof(std::uint64_t));
  return reinterpret_cast<const hsize_t*>(extents.data());
}

/// A dataspace in memory that is filled in order.
SpaceId whole_space(const Shape& shape) {
  return own<SpaceId>(H5Screate_simple(static_cast<int>(shape.size()), numbers(shape), nullptr), "H5Screate_simple");
}

void select(hid_t space, const Shape& start, const Shape& shape) {
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, numbers(start), nullptr, numbers(shape), nullptr),
        "selecting a part of it");
}

void repeat(std::span<const std::byte> value, std::span<std::byte> out) {
  if (value.empty()) return;
  for (std::size_t at = 0; at < out.size(); at += value.size())
    std::memcpy(out.data() + at, value.data(), value.size());
}

}  // namespace

struct FilteredData::Key {
  const FilteredData* owner = nullptr;
  std::size_t index = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

/// An open dataset; used and destroyed under the Lock only.
struct FilteredData::Open {
  const FilteredData* owner;
  DatasetId id;
  TypeId type;
  SpaceId space;
};

/// Never destroyed: HDF5 closes what is left at exit.
Lru<FilteredData::Key, FilteredData::Open>& FilteredData::all_open() {
  static auto* datasets = new Lru<Key, Open>(max_open);
  return *datasets;
}

FilteredData::FilteredData(const PosixFile& file, std::uint64_t file_bytes, std::shared_ptr<const Schema> schema,
                           std::shared_ptr<DecodedChunks> chunks)
    : file_(file),
      status_(file.status()),
      file_bytes_(file_bytes),
      schema_(std::move(schema)),
      chunks_(std::move(chunks)) {}

FilteredData::~FilteredData() {
  const Lock lock;
  while (all_open().evict([this](const Open& dataset) { return dataset.owner == this; })) {
  }
  hdf5_.reset();
}

void FilteredData::read(std::size_t index, Interval elements, std::span<std::byte> out) {
  if (schema_->datasets[index].chunk_bytes == 0) return read_in_place(index, elements, out);
  const auto form = form_of(index);
  const StoredArray& array = (*schema_->arrays)[index];
  read_chunked(*chunks_, {status_.device, status_.inode, status_.modified_ns, index, 0},
               {form->bytes, schema_->datasets[index].decoding_bytes},
               {Shape(array.shape), form->shape, row_major_strides(form->shape), array.dtype.size}, elements,
               out.data(), [&](const Shape& place, std::span<std::byte> chunk) { decode(index, *form, place, chunk); });
}

void FilteredData::decode(std::size_t index, const ChunkForm& form, const Shape& place, std::span<std::byte> out) {
  const StoredArray& array = (*schema_->arrays)[index];
  Buffer encoded;
  std::uint32_t skipped = 0;
  {
    const Lock lock;
    const Open& open = opened(lock, index);
    const std::uint64_t stored = stored_bytes(open.id.get(), numbers(place));
    if (stored == 0) return repeat(form.fill, out);
    if (form.decoding_bytes(stored) > schema_->datasets[index].decoding_bytes) refuse_change();
    if (form.decoder) {
      encoded = Buffer(stored);
      check(H5Dread_chunk(open.id.get(), H5P_DEFAULT, numbers(place), &skipped, encoded.data()), "reading a chunk");
    } else {
      Shape shape = form.shape;
      for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = std::min(shape[d], array.shape[d] - place[d]);
      const auto memory = whole_space(form.shape);
      select(memory.get(), Shape(shape.size()), shape);
      select(open.space.get(), place, shape);
      check(H5Dread(open.id.get(), open.type.get(), memory.get(), open.space.get(), H5P_DEFAULT, out.data()),
            "decoding a chunk");
    }
  }
  check_whole();
  if (form.decoder) form.decoder->decode(encoded.first(encoded.size()), skipped, out);
}

void FilteredData::read_in_place(std::size_t index, Interval elements, std::span<std::byte> out) {
  const StoredArray& array = (*schema_->arrays)[index];
  std::memset(out.data(), 0, out.size());  // HDF5 does not touch elements without a value
  std::byte* next = out.data();
  {
    const Lock lock;
    const Open& open = opened(lock, index);
    if (!is_written(open.id.get())) {  // HDF5 fails if there is no fill value either
      const auto creation = own<PropertyId>(H5Dget_create_plist(open.id.get()), "its properties");
      return repeat(fill_value(creation.get(), open.type.get()), out);
    }
    for_each_box(array.shape, elements, [&](const Box& box) {
      const std::uint64_t count = numel(box.shape());
      if (box.rank() > 0) select(open.space.get(), box.lo, box.shape());
      check(H5Dread(open.id.get(), open.type.get(), whole_space({count}).get(), open.space.get(), H5P_DEFAULT, next),
            "reading it");
      next += count * array.dtype.size;
    });
  }
  check_whole();
}

/// HDF5 reads zeros if a file was truncated after it was opened.
void FilteredData::check_whole() const {
  if (const std::uint64_t found = file_.status().bytes; found < file_bytes_)
    throw Error(
        Kind::input, "",
        {"the file has " + std::to_string(found) + " bytes",
         std::to_string(file_bytes_) + ", as when it was catalogued", "is the checkpoint still being written?"});
}

std::shared_ptr<const ChunkForm> FilteredData::form_of(std::size_t index) {
  const std::lock_guard guard(mutex_);
  auto& form = forms_[index];
  if (!form) {
    const Lock lock;
    const Open& open = opened(lock, index);
    const auto creation = own<PropertyId>(H5Dget_create_plist(open.id.get()), "its properties");
    auto found =
        std::make_shared<const ChunkForm>(chunk_form(creation.get(), open.type.get(), (*schema_->arrays)[index].shape));
    if (found->bytes != schema_->datasets[index].chunk_bytes) refuse_change();
    form = std::move(found);
  }
  return form;
}

const FilteredData::Open& FilteredData::opened(const Lock&, std::size_t index) {
  if (const Open* const open = all_open().find({this, index})) return *open;
  const StoredArray& array = (*schema_->arrays)[index];
  if (!hdf5_) hdf5_ = open_file(file_.path());
  auto id = own<DatasetId>(H5Dopen2(hdf5_.get(), array.name.str().c_str(), without_cache().get()), "opening it");
  auto type = own<TypeId>(H5Dget_type(id.get()), "its type");
  auto space = own<SpaceId>(H5Dget_space(id.get()), "its dataspace");
  // The buffer's size comes from the catalog: a file that was replaced must not write past it.
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const auto rank =
      static_cast<std::size_t>(check(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr), "its shape"));
  if (rank != array.shape.size() || !std::equal(array.shape.begin(), array.shape.end(), extents.begin()) ||
      H5Tget_size(type.get()) != array.dtype.size)
    refuse_change();
  return all_open().insert({this, index}, {this, std::move(id), std::move(type), std::move(space)});
}

}  // namespace ckpt::hdf5
