#include "store/orbax/chunk_reader.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked.hpp"
#include "io/crc.hpp"
#include "io/zstd.hpp"
#include "store/chunked_array.hpp"
#include "store/narrow_numbers.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt::orbax {

namespace {

constexpr std::size_t files_at_once = 64;
constexpr std::uint64_t sum_bytes = 4;
/// What zstd unpacks is read in pieces that stay in a core's cache.
constexpr std::uint64_t piece_bytes = 512U << 10;
/// Chunks that are stored as they are, up to this size, are read whole: one call serves many rows.
constexpr std::uint64_t most_read_whole = 1U << 20;

/// Memory for bytes that are read into it. Chunks may be small: a Buffer would take a mapping for each.
class Bytes {
 public:
  explicit Bytes(std::uint64_t bytes) : bytes_(std::make_unique_for_overwrite<std::byte[]>(bytes)), size_(bytes) {}
  std::span<std::byte> all() const noexcept { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_;
};

[[noreturn]] void refuse_chunk(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "", {"a chunk " + found, expected, "is the file damaged?"});
}

/// The most bytes that a chunk may take in its file: more than any compression makes of it.
std::uint64_t most_encoded(std::uint64_t chunk_bytes) {
  return checked_add(checked_mul(chunk_bytes, 2, "a chunk"), 1024, "a chunk");
}

/// Whether a chunk is unpacked as it is read.
bool is_streamed(const ZarrCodecs& codecs) {
  return codecs.packing == Packing::zstd && !codecs.is_summed_inside && !codecs.is_summed_outside;
}

bool is_in_place(const ZarrArray& form) {
  const ZarrCodecs& codecs = form.codecs;
  return codecs.packing == Packing::none && !codecs.is_summed_inside && !form.sharding &&
         form.strides == row_major_strides(form.grid) && form.chunk_bytes() > most_read_whole;
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// Returns the bytes before their CRC-32C.
std::span<const std::byte> checked_sum(std::span<const std::byte> bytes) {
  if (bytes.size() < sum_bytes)
    refuse_chunk("of " + std::to_string(bytes.size()) + " bytes", "those of a CRC-32C, too");
  const auto summed = bytes.first(bytes.size() - sum_bytes);
  if (crc32c.of(summed) != little_endian(bytes.last(sum_bytes)))
    refuse_chunk("whose bytes are not those of its CRC-32C", "those that were written");
  return summed;
}

void inflate_into(std::span<const std::byte> packed, bool is_gzip, std::span<std::byte> out) {
  z_stream stream{};
  if (inflateInit2(&stream, is_gzip ? 16 + MAX_WBITS : MAX_WBITS) != Z_OK) throw Error(Kind::io, "zlib has no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  constexpr std::size_t most = 1U << 30;
  int result = Z_OK;
  std::size_t done = 0;
  while (result == Z_OK) {
    if (stream.avail_in == 0) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));  // zlib only reads it
      stream.avail_in = static_cast<uInt>(std::min(packed.size(), most));
      packed = packed.subspan(stream.avail_in);
    }
    const auto room = static_cast<uInt>(std::min(out.size() - done, most));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream.avail_out = room;
    result = inflate(&stream, Z_NO_FLUSH);
    done += room - stream.avail_out;
  }
  if (result != Z_STREAM_END || done != out.size())
    refuse_chunk("that zlib does not unpack into " + std::to_string(out.size()) + " bytes", "one that does");
}

void unpack(Packing packing, std::span<const std::byte> packed, std::span<std::byte> out) {
  if (packing == Packing::zstd) return unpack_zstd(packed, out);
  if (packing != Packing::none) return inflate_into(packed, packing == Packing::gzip, out);
  if (packed.size() != out.size())
    refuse_chunk("of " + std::to_string(packed.size()) + " bytes", std::to_string(out.size()));
  std::copy(packed.begin(), packed.end(), out.begin());
}

void decode_chunk(const ZarrCodecs& codecs, std::span<const std::byte> encoded, std::span<std::byte> chunk) {
  if (codecs.is_summed_outside) encoded = checked_sum(encoded);
  if (!codecs.is_summed_inside) return unpack(codecs.packing, encoded, chunk);
  if (codecs.packing == Packing::none) return unpack(Packing::none, checked_sum(encoded), chunk);
  const Bytes summed(chunk.size() + sum_bytes);
  unpack(codecs.packing, encoded, summed.all());
  const auto elements = checked_sum(summed.all());
  std::copy(elements.begin(), elements.end(), chunk.begin());
}

ChunkedArray chunked(const ZarrArray& form) {
  return {form.shape, form.chunk(), form.strides, form.dtype.size};
}

}  // namespace

DecodedChunks::Size decoding_size(const ItemArray& array) {
  const ZarrArray& form = array.form;
  if (is_in_place(form)) return {};
  const std::uint64_t bytes = form.chunk_bytes();
  std::uint64_t encoded = 0;
  for (const ItemArray::Stored& value : array.values) encoded = std::max(encoded, value.place.bytes);
  encoded = std::min(encoded, is_streamed(form.codecs) ? piece_bytes : most_encoded(bytes));
  if (form.codecs.is_summed_inside) encoded = checked_add(encoded, bytes, "a chunk");
  return {bytes, checked_add(bytes, encoded, "a chunk")};
}

ChunkReader::ChunkReader(std::filesystem::path directory, std::shared_ptr<const Item> item,
                         std::shared_ptr<DecodedChunks> chunks, const DecodedChunks::Key& key)
    : directory_(std::move(directory)),
      item_(std::move(item)),
      chunks_(std::move(chunks)),
      key_(key),
      files_(files_at_once, [this](std::uint64_t file) {
        return std::make_shared<PosixFile>(PosixFile::open_for_reading(directory_ / item_->files.at(file)));
      }) {}

void ChunkReader::read(std::size_t index, const DecodedChunks::Size& size, Interval elements, std::byte* out) {
  const ItemArray& array = item_->arrays.at(index);
  if (size.bytes != (is_in_place(array.form) ? 0 : array.form.chunk_bytes()))
    throw Error(Kind::input, "",
                {"has other chunks now", "those that were catalogued", "is the checkpoint still being written?"});
  if (size.bytes == 0) {
    read_in_place(array, elements, out);
  } else {
    DecodedChunks::Key key = key_;
    key.dataset = index;
    read_chunked(*chunks_, key, size, chunked(array.form), elements, out,
                 [&](const Shape& place, std::span<std::byte> chunk) { decode(array, size.decoding, place, chunk); });
  }
  if (const auto narrow = narrow_number(array.form.mark))
    widen(*narrow, {out, static_cast<std::size_t>(elements.size())});
}

void ChunkReader::read_bytes(const Place& place, std::uint64_t offset, std::span<std::byte> out) {
  if (offset > place.bytes || out.size() > place.bytes - offset)
    refuse_chunk("of " + std::to_string(place.bytes) + " bytes",
                 std::to_string(out.size()) + " from byte " + std::to_string(offset) + " on");
  if (place.file == Place::inlined)
    std::memcpy(out.data(), item_->inlined.data() + place.offset + offset, out.size());
  else
    files_.get(place.file)->read(place.offset + offset, out);
}

void ChunkReader::read_in_place(const ItemArray& array, Interval elements, std::byte* out) {
  const ChunkedArray form = chunked(array.form);
  for_each_box(form.shape, elements, [&](const Box& box) {
    const Shape box_strides = row_major_strides(box.shape());
    for_each_chunk(box, form.chunk, [&](const Shape& place, const Box& part) {
      const StridedCopy copy = strided_copy(part.shape(), form.strides, box_strides, form.element);
      const std::uint64_t from = offset_of(part.lo, place, form.strides) * form.element;
      std::byte* const to = out + offset_of(part.lo, box.lo, box_strides) * form.element;
      const Place* const value = array.find(chunk_number(form, place));
      for_each_step(std::span(copy.loops).first(copy.depth), [&](const CopyStep& step) {
        const std::span<std::byte> run(to + step.target, copy.run);
        if (value == nullptr)
          std::memset(run.data(), 0, run.size());
        else
          read_bytes(*value, from + step.source, run);
      });
    });
    out += numel(box.shape()) * form.element;
  });
}

template <class Work>
decltype(auto) ChunkReader::naming_file(const Place& value, Work&& work) const {
  if (value.file == Place::inlined) return work();
  return with_file((directory_ / item_->files.at(value.file)).string(), work);
}

/// Reads where a chunk lies in a value that holds several; nothing if it was never written.
std::optional<Place> ChunkReader::in_shard(const ItemArray& array, const Place& value, std::uint64_t chunk) {
  const ZarrSharding& sharding = *array.form.sharding;
  const std::uint64_t count = numel(array.form.grid) / numel(sharding.chunk);
  const std::uint64_t bytes = checked_add(checked_mul(count, 16, "an index"), sharding.is_index_summed ? sum_bytes : 0);
  if (bytes > value.bytes)
    naming_file(value, [&] {
      refuse_chunk("in a shard of " + std::to_string(value.bytes) + " bytes",
                   "one with an index of " + std::to_string(bytes));
    });
  const Bytes index(bytes);
  read_bytes(value, sharding.is_index_first ? 0 : value.bytes - bytes, index.all());
  const std::uint64_t offset = little_endian(index.all().subspan(chunk * 16, 8));
  const std::uint64_t size = little_endian(index.all().subspan(chunk * 16 + 8, 8));
  constexpr std::uint64_t absent = ~std::uint64_t{0};
  const bool is_absent = offset == absent && size == absent;
  naming_file(value, [&] {
    if (sharding.is_index_summed) checked_sum(index.all());
    if (is_absent && !array.form.has_zero_fill) refuse_chunk("that was never written", "one with elements");
    if (!is_absent && (offset > value.bytes || size > value.bytes - offset))
      refuse_chunk("beyond its shard of " + std::to_string(value.bytes) + " bytes", "one within it");
  });
  if (is_absent) return std::nullopt;
  return Place{value.file, value.offset + offset, size};
}

void ChunkReader::unpack_streamed(const Place& stored, std::span<std::byte> chunk) {
  const Bytes piece(std::min(stored.bytes, piece_bytes));
  std::uint64_t done = 0;
  const auto next = [&]() -> std::span<const std::byte> {
    const auto bytes = piece.all().first(std::min<std::uint64_t>(piece.all().size(), stored.bytes - done));
    read_bytes(stored, done, bytes);
    done += bytes.size();
    return bytes;
  };
  try {
    unpack_zstd(next, chunk);
  } catch (const Error& error) {
    if (!error.file().empty()) throw;  // of reading: it names the file
    naming_file(stored, [] { throw; });
  }
}

void ChunkReader::decode(const ItemArray& array, std::uint64_t memory, const Shape& place, std::span<std::byte> chunk) {
  const ZarrArray& form = array.form;
  const Place* const value = array.find(chunk_number({form.shape, form.grid, {}, 0}, place));
  if (value == nullptr) return;
  Place stored = *value;
  if (form.sharding) {
    Shape in_value = place;
    for (std::size_t d = 0; d < place.size(); ++d) in_value[d] %= form.grid[d];
    const auto found = in_shard(array, *value, chunk_number({form.grid, form.sharding->chunk, {}, 0}, in_value));
    if (!found) return;
    stored = *found;
  }
  const bool is_in_pieces = is_streamed(form.codecs);
  if (stored.bytes == 0 || stored.bytes > (is_in_pieces ? most_encoded(chunk.size()) : memory))
    naming_file(*value, [&] {
      refuse_chunk("that takes " + std::to_string(stored.bytes) + " bytes",
                   "about its " + std::to_string(chunk.size()));
    });
  if (is_in_pieces) return unpack_streamed(stored, chunk);
  const Bytes encoded(stored.bytes);
  read_bytes(stored, 0, encoded.all());
  naming_file(*value, [&] { decode_chunk(form.codecs, encoded.all(), chunk); });
}

}  // namespace ckpt::orbax
