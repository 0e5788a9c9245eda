#include "checkpoint/stored_sample.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>

namespace ckpt {

namespace {

constexpr std::uint64_t small_bytes = 4096;  // arrays up to this are read whole
constexpr std::uint64_t runs_of_array = 8;   // number of runs read from a larger array, each of:
constexpr std::uint64_t run_bytes = 512;

std::uint64_t digest(std::string_view bytes) {
  return std::hash<std::string_view>()(bytes);
}

}  // namespace

StoredSample stored_sample(SourceFile& file, const Schema& schema, std::size_t dataset) {
  const StoredArray& array = (*schema.arrays)[dataset];
  if (array.verbatim) {
    const PartialSum sum = sum_of_value(schema.datasets[dataset]);
    return {sum.bytes == 0 ? 0 : sum.low ^ sum.high, "", false, 0};
  }
  const std::uint64_t element = array.dtype.size;
  const std::uint64_t size = numel(array.shape);
  if (size == 0 || element == 0) return {0, "", true, 0};
  const std::uint64_t each = std::max<std::uint64_t>(1, run_bytes / element);
  std::string bytes;
  if (size <= std::max(runs_of_array * each, small_bytes / element)) {
    bytes.resize(size * element);
    file.read(dataset, 0, std::as_writable_bytes(std::span(bytes)));
  } else {
    bytes.resize(runs_of_array * each * element);
    for (std::uint64_t r = 0; r < runs_of_array; ++r) {
      const std::uint64_t start = (size - each) / (runs_of_array - 1) * r;
      file.read(dataset, start * element,
                std::as_writable_bytes(std::span(bytes)).subspan(r * each * element, each * element));
    }
  }
  const bool is_constant = std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(element), bytes.end(), bytes.begin());
  return {digest(bytes), is_constant ? bytes.substr(0, element) : "", false, bytes.size()};
}

}  // namespace ckpt
