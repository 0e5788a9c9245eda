#include "store/hdf5/check_chunks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ckpt::hdf5 {

namespace {

/// H5Z_FILTER_FLETCHER32 removes this much from a chunk's end, however short the chunk is.
constexpr std::uint64_t checksum_bytes = 4;

/// These decoders of HDF5 read and write as far as their parameters in the file say, regardless of the sizes of chunk
/// and data.
bool trusts_parameters(const Filter& filter) {
  return filter.id == H5Z_FILTER_NBIT || filter.id == H5Z_FILTER_SCALEOFFSET || filter.id == H5Z_FILTER_SZIP;
}

/// Returns the minimum size of a chunk in the file.
std::uint64_t min_bytes(const ChunkForm& form) {
  const bool has_checksum = std::any_of(form.filters.begin(), form.filters.end(),
                                        [](const Filter& filter) { return filter.id == H5Z_FILTER_FLETCHER32; });
  return has_checksum ? checksum_bytes + 1 : 1;
}

/// Moves to the next place in the grid of chunks; returns false after the last.
bool advance(std::vector<hsize_t>& place, const Shape& chunk, const Shape& shape) {
  for (std::size_t i = place.size(); i-- > 0;) {
    if (chunk[i] < shape[i] - place[i]) {
      place[i] += chunk[i];
      return true;
    }
    place[i] = 0;
  }
  return false;
}

/// Decodes the chunk at `place` by reading its first element.
void decode_chunk(hid_t dataset, hid_t type, hid_t space, const std::vector<hsize_t>& place) {
  const std::vector<hsize_t> one(place.size(), 1);
  const hsize_t count = 1;
  const auto memory = own<SpaceId>(H5Screate_simple(1, &count, nullptr), "H5Screate_simple");
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, place.data(), nullptr, one.data(), nullptr),
        "selecting a part of it");
  std::vector<std::byte> element(H5Tget_size(type));
  check(H5Dread(dataset, type, memory.get(), space, H5P_DEFAULT, element.data()), "decoding a chunk");
}

[[noreturn]] void refuse(const std::string& found) {
  throw Error(Kind::input, "", {found, "what its filters can read", "is the file damaged?"});
}

}  // namespace

std::uint64_t check_chunks(hid_t dataset, const ChunkForm& form, const Shape& shape, std::uint64_t file_bytes) {
  const auto type = own<TypeId>(H5Dget_type(dataset), "its type");
  const auto space = own<SpaceId>(H5Dget_space(dataset), "its dataspace");
  const std::uint64_t least = form.filters.empty() ? form.bytes : min_bytes(form);
  const std::uint64_t most = form.filters.empty() ? form.bytes : file_bytes;
  const bool is_decoded = std::any_of(form.filters.begin(), form.filters.end(), trusts_parameters);

  std::uint64_t found = 0;
  std::uint64_t largest = 0;
  std::vector<hsize_t> place(shape.size(), 0);
  do {
    const std::uint64_t bytes = stored_bytes(dataset, place.data());
    if (bytes == 0) continue;
    ++found;
    largest = std::max(largest, bytes);
    if (bytes < least || bytes > most) refuse("a chunk of " + std::to_string(bytes) + " bytes in the file");
    if (is_decoded) decode_chunk(dataset, type.get(), space.get(), place);
  } while (advance(place, form.shape, shape));

  // An existing chunk without bytes looks like a missing one, except to the filters.
  const std::uint64_t stored = count_chunks(dataset);
  if (stored != found) refuse(std::to_string(stored - found) + " chunks without bytes");
  return largest;
}

std::uint64_t count_chunks(hid_t dataset) {
  const auto space = own<SpaceId>(H5Dget_space(dataset), "its dataspace");
  hsize_t count = 0;
  check(H5Dget_num_chunks(dataset, space.get(), &count), "counting its chunks");  // 1.10 does not accept H5S_ALL
  return count;
}

}  // namespace ckpt::hdf5
