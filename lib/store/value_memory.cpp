#include "store/value_memory.hpp"

namespace ckpt {

std::uint64_t value_bytes(const Schema& schema) {
  std::uint64_t bytes = 0;
  for (const Dataset& dataset : schema.datasets)
    if (dataset.verbatim) bytes += dataset.verbatim->bytes.size();
  return bytes;
}

}  // namespace ckpt
