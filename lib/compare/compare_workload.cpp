#include "compare/compare_workload.hpp"

#include <algorithm>

namespace ckpt {

CompareWorkload::CompareWorkload(const ComparedPair& pair, std::uint64_t chunk_bytes, ChunkOrder order,
                                 std::uint32_t process, Traffic& traffic)
    : ChunkComparison(pair, process, traffic), chunk_bytes_(chunk_bytes), chunks_(b(), order) {
  std::uint64_t total = 0;
  for (const ParameterId parameter : pair.parameters)
    for (const Position card : cards_of(parameter))
      total += b().run_of(parameter, card).size() * b().tensors()[parameter].dtype.size;
  traffic.bytes_total = total;
}

/// This process's cards of B that hold a parameter. If copies may differ, only the one that counts: the lowest card's.
std::vector<Position> CompareWorkload::cards_of(ParameterId parameter) const {
  std::vector<Position> cards;
  for (const Position card : pair().cards)
    if (b().holds(card, b().array_of(parameter))) cards.push_back(card);
  if (b().shardings()[parameter].replicas != Replicas::first) return cards;
  std::vector<Position> counted;
  b().for_each_first(parameter, [&](Position first) { counted.push_back(b().counted_card(parameter, first)); });
  std::sort(counted.begin(), counted.end());
  std::erase_if(cards, [&](Position card) { return !std::binary_search(counted.begin(), counted.end(), card); });
  return cards;
}

/// A card's part of a parameter, in chunks that fit with both A's and B's element sizes.
ChunkGrid CompareWorkload::grid(ParameterId parameter, Position card) const {
  const std::uint64_t elements = b().run_of(parameter, card).size();
  const Shape stored = b().stored_shape(b().array_of(parameter), card);
  const std::uint64_t larger = std::max(a_tensor(parameter).dtype.size, b().tensors()[parameter].dtype.size);
  return ChunkGrid(elements == numel(stored) ? stored : Shape{elements}, larger, chunk_bytes_);
}

std::optional<Chunk> CompareWorkload::next() {
  for (;;) {
    if (auto chunk = chunks_.next()) {
      chunk->bytes = chunk->elements.size() * a_tensor(pair().parameters[parameter_ - 1]).dtype.size;
      return chunk;
    }
    if (parameter_ == pair().parameters.size()) return std::nullopt;
    const ParameterId parameter = pair().parameters[parameter_++];
    chunks_.start(b().array_of(parameter));
    for (const Position card : cards_of(parameter))
      chunks_.add(card, grid(parameter, card), b().run_of(parameter, card).lo);
  }
}

}  // namespace ckpt
