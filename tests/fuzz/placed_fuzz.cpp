// Any pickle is the metadata of torch_checkpointing: what is found survives its own encoding, and each rank has a piece
// of each tensor or none, or there is one error of the project's own type.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/wire.hpp"
#include "store/torch/placed_items.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ckpt;
  try {
    std::size_t at = 0;
    const auto pickle = torch::Pickle::read({reinterpret_cast<const char*>(data), size}, at);
    if (!pickle) return 0;
    const std::string sent = wire::packed(torch::parse_placed_items(*pickle));
    const auto items = wire::unpacked<std::vector<torch::PlacedItem>>(sent);
    if (wire::packed(items) != sent) std::abort();
    for (const auto& item : items)
      for (const auto& tensor : item.tensors)
        for (std::uint64_t rank = 0; rank < 3; ++rank)
          if (const auto piece = torch::piece_of_rank(tensor, rank))
            for (const MeshAxis& axis : piece->mesh)
              if (axis.coordinate >= axis.size) std::abort();
  } catch (const Error&) {
    return 0;  // refused, as most inputs ought to be
  }
  return 0;
}
