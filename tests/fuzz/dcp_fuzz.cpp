// Any bytes are the .metadata of a DCP directory, which survives its own encoding and has a layout, or one error of the
// project's own type.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/wire.hpp"
#include "frameworks/cut_rules.hpp"
#include "store/dcp/dcp_directory.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto metadata = ckpt::torch::parse_dcp_metadata({reinterpret_cast<const char*>(data), size});
    const std::string bytes = ckpt::wire::packed(metadata);
    const auto again = ckpt::wire::unpacked<ckpt::torch::DcpMetadata>(bytes);
    if (ckpt::wire::packed(again) != bytes) std::abort();
    const auto slots = ckpt::torch::dcp_slots(metadata);
    if (slots.size() != metadata.files.size()) std::abort();
    ckpt::Mesh mesh{{"card", "chunk"}, {metadata.files.size(), 1}, {}};
    std::vector<ckpt::CutTensor> tensors;
    for (const auto& tensor : metadata.tensors) {
      tensors.push_back({tensor.name, tensor.shape, {}});
      for (const auto& chunk : tensor.chunks) {
        if (chunk.file >= metadata.files.size() || chunk.slot >= slots[chunk.file]) std::abort();
        mesh.shape[1] = std::max<std::uint64_t>(mesh.shape[1], chunk.slot + 1);
      }
    }
    for (std::size_t i = 0; i < tensors.size(); ++i)
      for (const auto& chunk : metadata.tensors[i].chunks)
        tensors[i].held.push_back({chunk.file * mesh.shape[1] + chunk.slot, chunk.box});
    if (mesh.size() > 0 && mesh.size() <= ckpt::max_cards) ckpt::layout_of(tensors, mesh, "fuzz");
  } catch (const ckpt::Error&) {
    return 0;  // refused, as most inputs ought to be
  }
  return 0;
}
