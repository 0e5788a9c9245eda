#include "exchange/exchange.hpp"

namespace ckpt {

void Workload::write_stretch(const Stretch& stretch, std::span<std::byte> bytes, std::span<const PartialSum> read) {
  for (std::size_t i = 0; i < stretch.chunks.size(); ++i)
    write(stretch.chunks[i], bytes.subspan(stretch.offsets[i], stretch.chunks[i].bytes), read[i]);
}

}  // namespace ckpt
