#pragma once

#include <vector>

#include "compare/chunk_comparison.hpp"
#include "plan/chunk_merge.hpp"

namespace ckpt {

/// Compares two checkpoints parameter by parameter: every copy in B that counts.
class CompareWorkload final : public ChunkComparison {
 public:
  CompareWorkload(const ComparedPair& pair, std::uint64_t chunk_bytes, ChunkOrder order, std::uint32_t process,
                  Traffic& traffic);

  std::optional<Chunk> next() override;

 private:
  std::vector<Position> cards_of(ParameterId parameter) const;
  ChunkGrid grid(ParameterId parameter, Position card) const;

  std::uint64_t chunk_bytes_;
  std::size_t parameter_ = 0;  // index of the next in pair().parameters
  ChunkMerge chunks_;          // of the one before
};

}  // namespace ckpt
