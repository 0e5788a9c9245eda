#include "store/hdf5/chunk_form.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"

namespace ckpt::hdf5 {

namespace {

/// Unfiltered chunks up to this size are read whole: one call serves many rows.
constexpr std::uint64_t most_read_whole = 1U << 20;

std::vector<Filter> filters_of(hid_t creation) {
  std::vector<Filter> filters(static_cast<std::size_t>(check(H5Pget_nfilters(creation), "its filters")));
  for (unsigned i = 0; i < filters.size(); ++i) {
    unsigned flags = 0;
    std::array<unsigned, 32> values{};
    std::size_t count = values.size();
    filters[i].id =
        check(H5Pget_filter2(creation, i, &flags, &count, values.data(), 0, nullptr, nullptr), "its filters");
    filters[i].values.assign(values.begin(),
                             values.begin() + static_cast<std::ptrdiff_t>(std::min(count, values.size())));
  }
  return filters;
}

[[noreturn]] void refuse_form(const std::string& found) {
  throw Error(Kind::input, "", {found, "what its filters can read", "is the file damaged?"});
}

herr_t take_innermost(unsigned, const H5E_error2_t* entry, void* text) {
  if (entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 1;
}

}  // namespace

bool ChunkForm::is_in_place() const noexcept {
  return filters.empty() && bytes > most_read_whole;
}

std::uint64_t ChunkForm::decoding_bytes(std::uint64_t encoded) const {
  // Besides the chunk that it fills, HDF5 holds a filter's input and output, which may have grown to twice the chunk.
  const std::uint64_t decoded = decoder ? decoder->memory(bytes) : checked_mul(bytes, 3, "its chunk");
  return checked_add(decoded, encoded, "its chunk");
}

ChunkForm chunk_form(hid_t creation, hid_t type, const Shape& shape) {
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const int rank = check(H5Pget_chunk(creation, H5S_MAX_RANK, extents.data()), "its chunks");
  if (static_cast<std::size_t>(rank) != shape.size()) refuse_form("chunks of another rank");
  ChunkForm form;
  form.bytes = H5Tget_size(type);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (extents[i] == 0) refuse_form("chunks of no elements");
    form.shape.push_back(extents[i]);
    form.bytes = checked_mul(form.bytes, extents[i], "its chunk");
  }
  form.filters = filters_of(creation);
  unsigned options = 0;
  check(H5Pget_chunk_opts(creation, &options), "its chunks");
  // Edge chunks that skipped the filters look like any other chunk.
  if ((options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0) form.decoder = ChunkDecoder::of(form.filters);
  form.fill = fill_value(creation, type);
  return form;
}

/// A fill value that HDF5 was told never to write does not exist for readers either.
std::vector<std::byte> fill_value(hid_t creation, hid_t type) {
  H5D_fill_value_t kind = H5D_FILL_VALUE_UNDEFINED;
  H5D_fill_time_t time = H5D_FILL_TIME_NEVER;
  check(H5Pfill_value_defined(creation, &kind), "its fill value");
  check(H5Pget_fill_time(creation, &time), "its fill value");
  if (kind != H5D_FILL_VALUE_USER_DEFINED || time == H5D_FILL_TIME_NEVER) return {};
  std::vector<std::byte> value(H5Tget_size(type));
  check(H5Pget_fill_value(creation, type, value.data()), "its fill value");
  return value;
}

bool is_written(hid_t dataset) {
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  check(H5Dget_space_status(dataset, &status), "its storage");
  return status != H5D_SPACE_STATUS_NOT_ALLOCATED;
}

std::uint64_t stored_bytes(hid_t dataset, const hsize_t* place) {
  hsize_t bytes = 0;
  if (H5Dget_chunk_storage_size(dataset, place, &bytes) >= 0) return bytes;
  // Once any chunk was written, HDF5 1.10 fails for one that never was. Any other reason is a real failure.
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &reason);
  if (reason != "chunk storage is not allocated") fail("looking up a chunk");
  H5Eclear2(H5E_DEFAULT);
  return 0;
}

}  // namespace ckpt::hdf5
