#include "compare/chunk_comparison.hpp"

#include <cstring>
#include <optional>

#include "base/buffer.hpp"
#include "tensor/cast.hpp"

namespace ckpt {

ChunkComparison::ChunkComparison(const ComparedPair& pair, std::uint32_t process, Traffic& traffic)
    : pair_(pair),
      b_(pair.planner.target()),
      process_(process),
      traffic_(traffic),
      files_(pair.b, b_, pair.store, pair.most_open) {
  for (const ParameterId parameter : pair.parameters)
    is_scaled_ = is_scaled_ || pair.planner.scaling(parameter) != nullptr;
}

/// Recomputes elements that a map recomputes, in B's dtype, as if they were written. Returns `bytes` for elements that
/// only move.
std::span<std::byte> ChunkComparison::recomputed(const Chunk& chunk, std::span<std::byte> bytes) const {
  std::optional<ParameterId> scaled;  // a chunk holds elements of one parameter
  b_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region&) {
    if (pair_.planner.scaling(parameter) != nullptr) scaled = parameter;
  });
  if (!scaled) return bytes;
  const NumberFormat to = *number_format(b_.tensors()[*scaled].dtype);
  thread_local Buffer buffer;
  if (buffer.size() < chunk.elements.size() * to.size) buffer = Buffer(chunk.elements.size() * to.size);
  Cast(*number_format(a_tensor(*scaled).dtype), to, *pair_.planner.scaling(*scaled))
      .run(bytes.data(), buffer.data(), chunk.elements.size(), [](std::uint64_t) {});
  return buffer.first(chunk.elements.size() * to.size);
}

const Tensor& ChunkComparison::a_tensor(ParameterId parameter) const {
  return pair_.planner.source().tensors()[pair_.planner.source_of(parameter)];
}

PartialSum ChunkComparison::read(const Transfer& transfer, std::byte* target, std::span<std::byte> scratch) {
  traffic_.bytes_read += pair_.reader.read(transfer, target, scratch).bytes_read;
  return {};
}

/// Ignores padding, which is not part of a tensor: the program that saved it may have left anything there.
void ChunkComparison::write(const Chunk& chunk, std::span<std::byte> bytes, const PartialSum& /*read*/) {
  const std::uint64_t b_bytes = chunk.elements.size() * b_.arrays()[chunk.array].dtype.size;
  thread_local Buffer buffer;
  if (buffer.size() < b_bytes) buffer = Buffer(b_bytes);
  const auto own = buffer.first(b_bytes);
  files_.read(chunk, own);
  traffic_.bytes_read += b_bytes;
  traffic_.bytes_written += b_bytes;
  if (is_scaled_) bytes = recomputed(chunk, bytes);
  const bool is_equal = bytes.size() == own.size() && std::memcmp(bytes.data(), own.data(), bytes.size()) == 0;
  std::optional<TensorComparison> elements;
  Mismatch found;
  ParameterId of = 0;
  b_.for_each_region(chunk.array, chunk.card, chunk.elements, [&](ParameterId parameter, const Region& region) {
    const Tensor& b = b_.tensors()[parameter];
    const Tensor& a = pair_.planner.scaling(parameter) != nullptr ? b : a_tensor(parameter);
    if (region.fill || (is_equal && (a.dtype == b.dtype || are_same_numbers(a.dtype, b.dtype)))) return;
    Region here = region;
    here.offset -= chunk.elements.lo;
    of = parameter;  // a chunk holds elements of one parameter
    if (!elements) elements.emplace(a, b, pair_.agreement);
    elements->compare(here, chunk.card, bytes.data(), own.data(), found);
  });
  if (found.count == 0) return;
  const std::lock_guard lock(mutex_);
  found_[of].add(found);
}

}  // namespace ckpt
