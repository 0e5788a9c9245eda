#include "store/hdf5/chunk_decoder.hpp"

#include <hdf5.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "io/zstd.hpp"

namespace ckpt::hdf5 {

namespace {

constexpr std::size_t fletcher32_bytes = 4;
/// The number of zstd's filter, of which HDF5 has only plugins.
/// https://github.com/HDFGroup/hdf5_plugins, docs/RegisteredFilterPlugins.md
constexpr int zstd_filter = 32015;

[[noreturn]] void refuse_encoded(const std::string& found, const std::string& expected) {
  throw Error(Kind::input, "", {"a chunk " + found, expected, "is the file damaged?"});
}

/// Fletcher's sums of big-endian 16-bit words, as in HDF5: modulo 65535, where a sum other than 0 becomes 65535 rather
/// than 0.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  const auto reduced = [](std::uint64_t sum) { return sum == 0 ? 0 : (sum - 1) % 65535 + 1; };
  constexpr std::size_t words_at_once = 1U << 16;  // so that no sum reaches 2^64
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), 2 * words_at_once));
    for (std::size_t i = 0; i < part.size(); i += 2) {
      const auto upper = std::to_integer<std::uint64_t>(part[i]);
      const auto lower = i + 1 < part.size() ? std::to_integer<std::uint64_t>(part[i + 1]) : 0;
      first += upper << 8 | lower;
      second += first;
    }
    first = reduced(first);
    second = reduced(second);
    bytes = bytes.subspan(part.size());
  }
  return static_cast<std::uint32_t>(second << 16 | first);
}

/// Returns the data before its checksum. Before 1.6.3, HDF5 swapped the bytes of both halves of the checksum.
std::span<const std::byte> checked(std::span<const std::byte> encoded) {
  if (encoded.size() < fletcher32_bytes)
    refuse_encoded("of " + std::to_string(encoded.size()) + " bytes", "those of a checksum, too");
  const auto data = encoded.first(encoded.size() - fletcher32_bytes);
  std::uint32_t said = 0;
  for (std::size_t i = 0; i < fletcher32_bytes; ++i)
    said |= std::to_integer<std::uint32_t>(encoded[data.size() + i]) << (8 * i);
  const std::uint32_t swapped = (said & 0x00ff00ffU) << 8 | (said & 0xff00ff00U) >> 8;
  const std::uint32_t found = fletcher32(data);
  if (found != said && found != swapped)
    refuse_encoded("whose bytes are not those of its checksum", "those that were written");
  return data;
}

/// Receives a chunk's bytes in order and writes them to their places.
class Sink {
 public:
  /// `element`: size of the elements of shuffled data, which stores the first bytes of all elements, then their second
  /// bytes, and so on; a remainder at the end is unchanged. 1: data is not shuffled.
  Sink(std::span<std::byte> out, std::uint64_t element) : out_(out), element_(element), count_(out.size() / element) {}

  void put(std::span<const std::byte> bytes) {
    if (bytes.size() > out_.size() - done_)
      refuse_encoded("of more than " + std::to_string(out_.size()) + " bytes", "no more");
    while (!bytes.empty()) {
      const std::size_t taken = element_ == 1 || done_ >= count_ * element_ ? copy(bytes) : scatter(bytes);
      bytes = bytes.subspan(taken);
      done_ += taken;
    }
  }
  void finish() const {
    if (done_ < out_.size()) refuse_encoded("of " + std::to_string(done_) + " bytes", std::to_string(out_.size()));
  }

 private:
  std::size_t copy(std::span<const std::byte> bytes) {
    std::memcpy(out_.data() + done_, bytes.data(), bytes.size());
    return bytes.size();
  }
  /// Writes as many bytes as belong to one position in the elements; returns how many.
  std::size_t scatter(std::span<const std::byte> bytes) {
    const std::size_t first = done_ % count_;
    const std::size_t count = std::min(bytes.size(), count_ - first);
    std::byte* to = out_.data() + first * element_ + done_ / count_;
    for (std::size_t i = 0; i < count; ++i) to[i * element_] = bytes[i];
    return count;
  }

  std::span<std::byte> out_;
  std::size_t element_;
  std::size_t count_;  // number of elements
  std::size_t done_ = 0;
};

/// Owns zlib's state.
class Inflation {
 public:
  explicit Inflation(std::span<const std::byte> encoded) : rest_(encoded) {
    if (inflateInit(&state_) != Z_OK) throw Error(Kind::io, "zlib has no memory");
  }
  ~Inflation() { inflateEnd(&state_); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;

  /// Returns the next bytes, as many as fit into `window`; none at the end.
  std::span<const std::byte> next(std::span<std::byte> window) {
    state_.next_out = reinterpret_cast<Bytef*>(window.data());
    state_.avail_out = static_cast<uInt>(window.size());
    while (!is_done_ && state_.avail_out != 0) {
      const std::size_t given = std::min<std::size_t>(rest_.size(), std::numeric_limits<uInt>::max());
      state_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
      state_.avail_in = static_cast<uInt>(given);
      const int result = inflate(&state_, Z_NO_FLUSH);
      rest_ = rest_.subspan(given - state_.avail_in);
      is_done_ = result == Z_STREAM_END;
      if (!is_done_ && result != Z_OK)
        refuse_encoded("that is no gzip data: " + std::string(state_.msg != nullptr ? state_.msg : "it ends too early"),
                       "");
    }
    return window.first(window.size() - state_.avail_out);
  }

 private:
  std::span<const std::byte> rest_;
  z_stream state_{};
  bool is_done_ = false;
};

}  // namespace

std::optional<ChunkDecoder> ChunkDecoder::of(const std::vector<Filter>& filters) {
  ChunkDecoder decoder;
  for (unsigned i = 0; i < filters.size(); ++i) {
    const Filter& filter = filters[i];
    if (filter.id == H5Z_FILTER_SHUFFLE && i == 0) {
      if (filter.values.size() != 1 || filter.values.front() == 0) return std::nullopt;
      decoder.shuffle_ = i;
      decoder.element_ = filter.values.front();
    } else if ((filter.id == H5Z_FILTER_DEFLATE || (filter.id == zstd_filter && has_zstd())) && !decoder.packing_ &&
               !decoder.checksum_) {
      decoder.packing_ = i;
      decoder.is_zstd_ = filter.id == zstd_filter;
    } else if (filter.id == H5Z_FILTER_FLETCHER32 && !decoder.checksum_) {
      decoder.checksum_ = i;
    } else {
      return std::nullopt;
    }
  }
  return decoder;
}

void ChunkDecoder::decode(std::span<const std::byte> encoded, std::uint32_t skipped, std::span<std::byte> out) const {
  const auto applies = [&](std::optional<unsigned> place) { return place && (skipped >> *place & 1U) == 0; };
  if (applies(checksum_)) encoded = checked(encoded);
  const bool is_packed = applies(packing_);
  const bool is_shuffled = applies(shuffle_);
  if (is_packed && is_zstd_ && !is_shuffled) return unpack_zstd(encoded, out);
  Sink sink(out, is_shuffled ? element_ : 1);
  if (is_packed && is_zstd_) {
    std::vector<std::byte> unpacked(out.size());
    unpack_zstd(encoded, unpacked);
    sink.put(unpacked);
  } else if (is_packed) {
    Inflation inflation(encoded);
    std::array<std::byte, 64U << 10> window;
    for (auto bytes = inflation.next(window); !bytes.empty(); bytes = inflation.next(window)) sink.put(bytes);
  } else {
    sink.put(encoded);
  }
  sink.finish();
}

}  // namespace ckpt::hdf5
