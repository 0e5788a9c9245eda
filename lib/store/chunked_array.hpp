#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "io/decoded_chunks.hpp"
#include "tensor/box.hpp"
#include "tensor/shape.hpp"

namespace ckpt {

/// An array that is stored as a grid of chunks. Each chunk has the full shape: those at the array's end may extend
/// beyond it.
struct ChunkedArray {
  Shape shape;
  Shape chunk;
  Shape strides;              ///< elements from one index of each dimension to the next, in a decoded chunk
  std::uint64_t element = 0;  ///< bytes
};

/// Calls visit(first element of the chunk, part of the box) for each chunk that a box touches.
template <class Visit>
void for_each_chunk(const Box& box, const Shape& chunk, Visit&& visit) {
  Shape place(box.rank());
  for (std::size_t d = 0; d < box.rank(); ++d) place[d] = box.lo[d] / chunk[d] * chunk[d];
  const Shape first = place;
  for (;;) {
    Box part = box;
    for (std::size_t d = 0; d < box.rank(); ++d)
      part.set(d, {std::max(box.lo[d], place[d]), box.hi[d] - place[d] > chunk[d] ? place[d] + chunk[d] : box.hi[d]});
    visit(place, part);
    std::size_t d = box.rank();
    while (d-- > 0) {
      if (box.hi[d] - place[d] > chunk[d]) {
        place[d] += chunk[d];
        break;
      }
      place[d] = first[d];
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

/// Returns the number of the chunk that begins at `place`, in row-major order of the grid.
std::uint64_t chunk_number(const ChunkedArray& array, const Shape& place);

/// Returns where the chunk of this number begins.
Shape chunk_place(const ChunkedArray& array, std::uint64_t number);

/// Returns the offset of an element relative to `origin`, in elements.
std::uint64_t offset_of(const Shape& index, const Shape& origin, const Shape& strides);

/// Reads elements in row-major order into `out`. `decode` makes the chunk that begins at a place, and writes it over
/// zeros; `chunks` keeps it. `key` lacks the chunk's number.
void read_chunked(DecodedChunks& chunks, DecodedChunks::Key key, const DecodedChunks::Size& size,
                  const ChunkedArray& array, Interval elements, std::byte* out,
                  const std::function<void(const Shape& place, std::span<std::byte> chunk)>& decode);

}  // namespace ckpt
