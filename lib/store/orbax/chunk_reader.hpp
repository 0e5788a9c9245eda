#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "io/decoded_chunks.hpp"
#include "io/file_cache.hpp"
#include "io/posix_file.hpp"
#include "store/orbax/item.hpp"
#include "tensor/box.hpp"

namespace ckpt::orbax {

/// Returns the bytes that are decoded as a unit, and the memory that this takes; zeros if any part can be read alone.
DecodedChunks::Size decoding_size(const ItemArray& array);

/// Reads an item's arrays. Threads may share an object.
class ChunkReader {
 public:
  /// `key`: what identifies the item's version in `chunks`.
  ChunkReader(std::filesystem::path directory, std::shared_ptr<const Item> item, std::shared_ptr<DecodedChunks> chunks,
              const DecodedChunks::Key& key);

  /// Reads elements of an array, an index into Item::arrays, in row-major order. `size`: its decoding_size. Throws
  /// input if their bytes are missing or damaged, naming the file that holds them.
  void read(std::size_t array, const DecodedChunks::Size& size, Interval elements, std::byte* out);

 private:
  void read_in_place(const ItemArray& array, Interval elements, std::byte* out);
  void decode(const ItemArray& array, std::uint64_t memory, const Shape& place, std::span<std::byte> chunk);
  void unpack_streamed(const Place& stored, std::span<std::byte> chunk);
  std::optional<Place> in_shard(const ItemArray& array, const Place& value, std::uint64_t chunk);
  void read_bytes(const Place& place, std::uint64_t offset, std::span<std::byte> out);
  /// Runs work on bytes that were read: its errors name their file, as those of reading do.
  template <class Work>
  decltype(auto) naming_file(const Place& value, Work&& work) const;

  std::filesystem::path directory_;
  std::shared_ptr<const Item> item_;
  std::shared_ptr<DecodedChunks> chunks_;
  DecodedChunks::Key key_;
  FileCache<PosixFile> files_;
};

}  // namespace ckpt::orbax
