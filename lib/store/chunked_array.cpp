#include "store/chunked_array.hpp"

#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "tensor/strided_copy.hpp"

namespace ckpt {

std::uint64_t chunk_number(const ChunkedArray& array, const Shape& place) {
  std::uint64_t number = 0;
  for (std::size_t d = 0; d < place.size(); ++d)
    number = number * ceil_div(array.shape[d], array.chunk[d]) + place[d] / array.chunk[d];
  return number;
}

Shape chunk_place(const ChunkedArray& array, std::uint64_t number) {
  Shape place(array.shape.size());
  for (std::size_t d = place.size(); d-- > 0;) {
    const std::uint64_t count = ceil_div(array.shape[d], array.chunk[d]);
    place[d] = number % count * array.chunk[d];
    number /= count;
  }
  return place;
}

std::uint64_t offset_of(const Shape& index, const Shape& origin, const Shape& strides) {
  std::uint64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset += (index[d] - origin[d]) * strides[d];
  return offset;
}

void read_chunked(DecodedChunks& chunks, DecodedChunks::Key key, const DecodedChunks::Size& size,
                  const ChunkedArray& array, Interval elements, std::byte* out,
                  const std::function<void(const Shape& place, std::span<std::byte> chunk)>& decode) {
  for_each_box(array.shape, elements, [&](const Box& box) {
    const Shape box_strides = row_major_strides(box.shape());
    std::vector<std::pair<Shape, Box>> busy;  // another thread decodes it: meanwhile this one decodes others
    const auto read = [&](const Shape& place, const Box& part, bool may_wait) {
      key.chunk = chunk_number(array, place);
      const auto make = [&](std::span<std::byte> chunk) { decode(place, chunk); };
      const auto copy = [&](std::span<const std::byte> chunk) {
        run(strided_copy(part.shape(), array.strides, box_strides, array.element),
            chunk.data() + offset_of(part.lo, place, array.strides) * array.element,
            out + offset_of(part.lo, box.lo, box_strides) * array.element);
      };
      if (may_wait)
        chunks.with(key, size, make, copy);
      else if (!chunks.with_unless_busy(key, size, make, copy))
        busy.emplace_back(place, part);
    };
    for_each_chunk(box, array.chunk, [&](const Shape& place, const Box& part) { read(place, part, false); });
    for (const auto& [place, part] : busy) read(place, part, true);
    out += numel(box.shape()) * array.element;
  });
}

}  // namespace ckpt
