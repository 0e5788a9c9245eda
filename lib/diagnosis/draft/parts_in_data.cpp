#include "diagnosis/draft/parts_in_data.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <unordered_map>

namespace ckpt::drafting {

namespace {

constexpr std::uint64_t slice_elements = 16;
constexpr std::uint64_t most_slices = 1 << 22;
constexpr std::size_t most_parts = 4096;

std::uint64_t hash_of(const std::byte* bytes, std::uint64_t count) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes), count});
}

/// One slice's elements, which are a row of `bytes` or a column (see `hashes`).
std::span<const std::byte> slice_of(const std::vector<std::byte>& bytes, std::uint64_t slices, std::uint64_t wide,
                                    std::uint64_t element, bool by_rows, std::uint64_t slice,
                                    std::vector<std::byte>& column) {
  if (by_rows) return std::span(bytes).subspan(slice * wide * element, wide * element);
  column.resize(wide * element);
  for (std::uint64_t w = 0; w < wide; ++w)
    std::copy_n(bytes.data() + (w * slices + slice) * element, element, column.data() + w * element);
  return column;
}

/// Hashes some elements of each slice. `bytes` holds `slices` × `wide` elements, in which the slices are rows, or the
/// columns.
std::vector<std::uint64_t> hashes(const std::vector<std::byte>& bytes, std::uint64_t slices, std::uint64_t wide,
                                  std::uint64_t element, bool by_rows) {
  std::vector<std::uint64_t> result;
  std::vector<std::byte> column;
  for (std::uint64_t s = 0; s < slices; ++s)
    result.push_back(hash_of(slice_of(bytes, slices, wide, element, by_rows, s, column).data(), wide * element));
  return result;
}

/// Some elements of each slice of the whole tensor and of a piece, as `hashes` takes them.
struct Slices {
  std::vector<std::byte> bytes;
  std::uint64_t count = 0;
  DType dtype;
};

/// For each slice of the piece, the number of the whole tensor's slice to which it is near; its own numbers, which no
/// slice has, where there is none. The slice after the one before is looked at first, so that few others are.
std::vector<std::uint64_t> near_slices(const Slices& whole, const Slices& piece, std::uint64_t wide, bool by_rows,
                                       const Tolerance& tolerance) {
  std::vector<std::byte> our_column;
  std::vector<std::byte> their_column;
  const auto is_near = [&](std::uint64_t ours, std::uint64_t theirs) {
    Likeness likeness(piece.dtype, whole.dtype, tolerance);
    likeness.add(slice_of(piece.bytes, piece.count, wide, piece.dtype.size, by_rows, ours, our_column),
                 slice_of(whole.bytes, whole.count, wide, whole.dtype.size, by_rows, theirs, their_column));
    return likeness.holds();
  };
  std::vector<std::uint64_t> found;
  std::uint64_t next = 0;
  for (std::uint64_t s = 0; s < piece.count; ++s) {
    std::uint64_t slice = next;
    if (next >= whole.count || !is_near(s, next))
      for (slice = 0; slice < whole.count && !is_near(s, slice);) ++slice;
    if (slice == whole.count) return {};  // one slice that is near to none makes all the rest worthless
    found.push_back(slice);
    next = slice + 1;
  }
  return found;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> parts_of(const std::vector<std::uint64_t>& whole,
                                                   const std::vector<std::uint64_t>& piece) {
  std::unordered_multimap<std::uint64_t, std::uint64_t> places;
  for (std::uint64_t i = 0; i < whole.size(); ++i) places.emplace(whole[i], i);
  std::vector<std::uint64_t> starts;
  std::uint64_t next = 0;
  for (const std::uint64_t slice : piece) {
    if (starts.empty() || next >= whole.size() || whole[next] != slice) {
      // Another part begins at the nearest later slice with that content.
      const auto [first, last] = places.equal_range(slice);
      std::optional<std::uint64_t> nearest;
      for (auto place = first; place != last; ++place)
        if (place->second >= next && (!nearest || place->second < *nearest)) nearest = place->second;
      if (!nearest || starts.size() == most_parts) return std::nullopt;
      starts.push_back(*nearest);
      next = *nearest;
    }
    ++next;
  }
  if (starts.size() < 2 || starts.front() != 0) return std::nullopt;
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < starts.size(); ++i)
    sizes.push_back((i + 1 < starts.size() ? starts[i + 1] : whole.size()) - starts[i]);
  return sizes;
}

std::optional<std::vector<std::uint64_t>> parts_in_data(const Question& question, std::size_t dim, CardData& cards,
                                                        WholeTensors& reference) {
  const Shape& logical = *question.expected;
  const Shape& stored = question.first().shape;
  const std::size_t rank = stored.size();
  const std::uint64_t element = question.first().dtype.size;
  const DType& other = reference.find(question.name)->dtype;
  if (!reference.tolerance() && !have_same_bytes(other, question.first().dtype))
    return std::nullopt;  // slices are identified by bytes
  if (rank != logical.size() || logical[dim] > most_slices || numel(stored) == 0) return std::nullopt;
  const bool by_rows = rank == 1 || dim + 1 < rank;  // then the elements taken of a slice are in its last dimension
  const std::size_t across = rank == 1 ? dim : by_rows ? rank - 1 : rank - 2;
  const std::uint64_t wide = rank == 1 ? 1 : std::min(slice_elements, stored[across]);

  Box box{Shape(rank, 0), Shape(rank, 1)};
  if (rank > 1) box.set(across, {0, wide});
  box.set(dim, {0, logical[dim]});
  std::vector<std::byte> whole(logical[dim] * wide * other.size);
  reference.read(question.name, box, whole);

  std::vector<std::byte> piece(stored[dim] * wide * element);
  const Shape strides = row_major_strides(stored);
  const std::uint64_t runs = by_rows && rank > 1 ? stored[dim] : wide;
  const std::uint64_t each = piece.size() / element / runs;
  for (std::uint64_t r = 0; r < runs; ++r) {
    const std::uint64_t start = r * strides[by_rows && rank > 1 ? dim : across];
    cards.read(first_holder(question.pieces), question.stored, {start, start + each},
               std::span(piece).subspan(r * each * element, each * element));
  }
  if (reference.tolerance()) {
    std::vector<std::uint64_t> all(logical[dim]);
    std::iota(all.begin(), all.end(), std::uint64_t{0});
    return parts_of(all, near_slices({std::move(whole), logical[dim], other},
                                     {std::move(piece), stored[dim], question.first().dtype}, wide, by_rows,
                                     *reference.tolerance()));
  }
  return parts_of(hashes(whole, logical[dim], wide, element, by_rows),
                  hashes(piece, stored[dim], wide, element, by_rows));
}

}  // namespace ckpt::drafting
