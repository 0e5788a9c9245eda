#include "store/hdf5/read_dataset.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/wire.hpp"
#include "store/hdf5/attributes.hpp"
#include "store/hdf5/check_chunks.hpp"
#include "store/hdf5/datatype.hpp"
#include "store/hdf5/mappings.hpp"
#include "store/hdf5/marked_type.hpp"
#include "store/hdf5/text_heap.hpp"

namespace ckpt::hdf5 {

namespace {

/// Limits on the size that a filtered dataset may declare. Unwritten chunks and the best compressors cost a file next
/// to nothing, so no size is impossible. But more than 1 MiB for each stored byte, and more than 1 GiB in all, is an
/// attack on the reader's disk and time. The best that gzip does is 1 KiB for a byte.
constexpr std::uint64_t max_expansion = 1U << 20;
constexpr std::uint64_t harmless_bytes = 1U << 30;

void refuse_outside_data(hid_t creation) {
  if (check(H5Pget_external_count(creation), "its external files") > 0)
    throw Error(Kind::input, "",
                {"has its data in external files", "data in the file itself", "copy it into one with h5repack"});
}

[[noreturn]] void refuse_size(std::uint64_t found, const std::string& expected) {
  throw Error(Kind::input, "",
              {"declares " + std::to_string(found) + " bytes", expected, "is the file truncated or damaged?"});
}

void place_contiguous(hid_t id, std::uint64_t bytes, std::uint64_t stored, std::uint64_t file_bytes, Dataset& dataset) {
  // H5Dget_offset is meaningful only from here on: for unwritten data it returns nonsense in a file with a user block.
  const haddr_t offset = H5Dget_offset(id);
  if (offset == HADDR_UNDEF) fail("its offset");
  if (stored < bytes) refuse_size(bytes, "at most " + std::to_string(stored) + ", for which it has room");
  const std::uint64_t end = checked_add(offset, bytes, "the end of its data");
  if (end > file_bytes)
    throw Error(Kind::input, "",
                {"its data ends at byte " + std::to_string(end),
                 "at most " + std::to_string(file_bytes) + ", where the file ends", "is the file truncated?"});
  dataset.storage = Storage::raw;
  dataset.extents = FileExtents(offset, bytes);
}

/// A missing filter would be noticed only in the middle of the job.
void check_filters(hid_t creation) {
  const int count = check(H5Pget_nfilters(creation), "its filters");
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    std::array<char, 64> name{};
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter = check(
        H5Pget_filter2(creation, i, &flags, &values, nullptr, name.size() - 1, name.data(), nullptr), "its filters");
    if (H5Zfilter_avail(filter) > 0) continue;
    H5Eclear2(H5E_DEFAULT);
    throw Error(Kind::input, "",
                {"is stored through filter " + std::to_string(filter) + " (" + name.data() + "), which this HDF5 lacks",
                 "", "set HDF5_PLUGIN_PATH to where its plugin is, or save with gzip"});
  }
}

/// Checks a dataset that declares `bytes`, of which the file stores `stored`.
void check_expansion(std::uint64_t bytes, std::uint64_t stored) {
  if (bytes > harmless_bytes && bytes / max_expansion > stored)
    refuse_size(bytes, "what the " + std::to_string(stored) + " stored bytes can hold");
}

/// Readers of the file cannot rely on where a fill value of variable length lies.
void refuse_unwritten_value(hid_t creation) {
  H5D_fill_value_t kind = H5D_FILL_VALUE_UNDEFINED;
  check(H5Pfill_value_defined(creation, &kind), "its fill value");
  if (kind == H5D_FILL_VALUE_USER_DEFINED)
    throw Error(Kind::input, "",
                {"was never written and has a fill value of variable length", "a value", "write it, or leave it out"});
}

/// Places chunked data, and checks now for everything that could fail later.
void place_chunks(hid_t id, hid_t creation, std::uint64_t stored, std::uint64_t file_bytes, CatalogEntry& entry) {
  const auto type = own<TypeId>(H5Dget_type(id), "its type");
  const ChunkForm form = chunk_form(creation, type.get(), entry.array.shape);
  if (!form.decoder) check_filters(creation);
  check_expansion(form.bytes, stored);
  const std::uint64_t largest = check_chunks(id, form, entry.array.shape, file_bytes);
  if (form.is_in_place()) return;
  entry.dataset.chunk = form.shape;
  entry.dataset.chunk_bytes = form.bytes;
  entry.dataset.decoding_bytes = form.decoding_bytes(largest);
}

/// Stores which elements of other files an array shows. HDF5 is never asked for the array's data, and so opens none of
/// the files.
void place_views(hid_t creation, Mappings mappings, CatalogEntry& entry) {
  if (entry.array.verbatim)
    throw Error(Kind::input, "",
                {"is a virtual dataset of elements without a fixed size", "numbers",
                 "copy it into a dataset of its own with h5repack"});
  if (numel(entry.array.shape) == 0) return;  // Storage::empty
  for (View& view : mappings.views) {
    if (view.ours.stripes.empty()) view.ours = whole_hyperslab(entry.array.shape);
    if (view.ours.shape != entry.array.shape || !is_valid(view.ours))
      throw Error(Kind::input, "its mappings are for another shape; is the file damaged?");
  }
  check_unmapped(creation, mappings.views, entry.array.shape, entry.array.dtype.size);
  entry.dataset.storage = Storage::views;
  entry.dataset.views = std::move(mappings.views);
  entry.viewed = std::move(mappings.files);
}

/// Sets the storage of an array of fixed-size elements. Refuses, for any array, sizes that the file rules out. Elements
/// that were never written are read through HDF5, as the fill value.
void place(hid_t id, hid_t creation, H5D_layout_t layout, std::uint64_t file_bytes, CatalogEntry& entry) {
  const std::uint64_t element = H5Tget_size(own<TypeId>(H5Dget_type(id), "its type").get());
  const std::uint64_t bytes = checked_mul(numel(entry.array.shape), element, "its number of bytes");
  if (bytes == 0) return;  // Storage::empty
  const std::uint64_t stored = H5Dget_storage_size(id);
  if (stored == 0 && is_written(id)) fail("its storage");
  if (stored > file_bytes) refuse_size(stored, "at most " + std::to_string(file_bytes) + ", which the file has");
  if (entry.array.verbatim && stored == 0) return refuse_unwritten_value(creation);
  if (layout == H5D_CONTIGUOUS && stored != 0) {
    if (!entry.array.verbatim) place_contiguous(id, bytes, stored, file_bytes, entry.dataset);
    return;
  }
  if (layout == H5D_COMPACT && stored < bytes && !entry.array.verbatim)
    refuse_size(bytes, "what the " + std::to_string(stored) + " stored bytes can hold");
  if (!entry.array.verbatim) check_expansion(bytes, stored);
  entry.dataset.storage = Storage::filtered;
  if (layout != H5D_CHUNKED) return;
  if (stored == 0 && count_chunks(id) != 0)
    throw Error(Kind::input, "", {"chunks without bytes", "what its filters can read", "is the file damaged?"});
  if (stored == 0) return;
  if (entry.array.verbatim)
    check_filters(creation);
  else
    place_chunks(id, creation, stored, file_bytes, entry);
}

void read_verbatim(hid_t id, hid_t type, hid_t space, GlobalHeap& heap, CatalogEntry& entry) {
  entry.dataset.storage = Storage::verbatim;
  heap.set_is_value(true);
  entry.dataset.verbatim = read_value(id, type, space, heap);
  heap.set_is_value(false);
}

/// Visits the texts of a dataset that has references to them in one run. Only if they are few, they become its value.
/// Returns false for any other dataset.
bool read_texts(hid_t id, hid_t type, H5D_layout_t layout, std::uint64_t file_bytes, GlobalHeap& heap,
                CatalogEntry& entry) {
  if (layout != H5D_CONTIGUOUS || H5Tget_class(type) != H5T_STRING) return false;
  const std::uint64_t count = numel(entry.array.shape);
  const std::uint64_t bytes = checked_mul(count, heap.reference_size(), "its references");
  if (count == 0 || H5Dget_storage_size(id) != bytes) return false;
  const haddr_t at = H5Dget_offset(id);
  if (at == HADDR_UNDEF || at > file_bytes || file_bytes - at < bytes) return false;
  TextCount counted;
  std::string value;
  heap.set_is_visited(true);
  for_each_text(heap.file(), at, count, heap, [&](std::optional<std::string_view> text) {
    counted.add(text);
    if (counted.bytes() < least_long_texts)
      value += text ? wire::packed(*text) : wire::packed(no_text);
    else
      std::string().swap(value);
  });
  heap.set_is_visited(false);
  entry.dataset.storage = Storage::verbatim;
  if (counted.bytes() < least_long_texts) {
    heap.keep(value.size());
    entry.dataset.verbatim = Value{entry.array.dtype, entry.array.shape, std::move(value)};
    return true;
  }
  const GlobalHeap::Form form = heap.form();
  entry.dataset.texts = LongTexts{entry.array.dtype,
                                  entry.array.shape,
                                  counted.bytes(),
                                  counted.sum(),
                                  counted.stored_bytes(),
                                  at,
                                  form.user_block,
                                  static_cast<std::uint8_t>(form.address_bytes),
                                  static_cast<std::uint8_t>(form.length_bytes)};
  return true;
}

void read_attributes_of(hid_t id, GlobalHeap& heap, CatalogEntry& entry) {
  entry.dataset.attributes = read_attributes(id, heap, entry.left_out);
  if (const auto shape = take(entry.dataset.attributes, global_shape_attribute)) {
    entry.array.global_shape = shape_in(shape->value);
    if (!entry.array.global_shape)
      throw Error(Kind::input, std::string("attribute ") + global_shape_attribute,
                  {"no list of extents", "a tensor's shape, integers of 0 to 2^62", ""});
  }
}

}  // namespace

CatalogEntry read_dataset(hid_t id, std::uint64_t file_bytes, GlobalHeap& heap) {
  CatalogEntry entry;
  const auto creation = own<PropertyId>(H5Dget_create_plist(id), "its properties");
  const H5D_layout_t layout = check(H5Pget_layout(creation.get()), "its storage");
  refuse_outside_data(creation.get());
  // This comes first: for mappings that grow with their sources, even reading the dataspace would make HDF5 open the
  // sources.
  Mappings mappings;
  if (layout == H5D_VIRTUAL) mappings = read_mappings(creation.get());

  const auto type = transient(own<TypeId>(H5Dget_type(id), "its type"));
  const TypeTraits traits = traits_of(type.get());
  if (traits.reference)
    throw Error(Kind::input, "",
                {"holds references, which mean nothing in another file", "", "leave it out when saving"});
  entry.array.dtype = describe(type.get());

  const auto space = own<SpaceId>(H5Dget_space(id), "its dataspace");
  const auto shape = shape_of_space(space.get());
  if (shape) entry.array.shape = *shape;
  entry.array.verbatim = !shape || traits.variable_length;
  if (layout == H5D_VIRTUAL)
    place_views(creation.get(), std::move(mappings), entry);
  else if (shape)
    place(id, creation.get(), layout, file_bytes, entry);
  if (entry.array.verbatim && !(shape && read_texts(id, type.get(), layout, file_bytes, heap, entry)))
    read_verbatim(id, type.get(), space.get(), heap, entry);
  if (entry.dataset.verbatim && heap.is_over()) {
    entry.is_over = true;
    entry.dataset.verbatim.reset();
  }
  read_attributes_of(id, heap, entry);
  entry.array.dtype = interpreted(entry.array.dtype, entry.dataset.attributes);
  return entry;
}

}  // namespace ckpt::hdf5
