// Any bytes are a reference of tensors whose sizes can be counted, an index of files beside it, or one error of the
// project's own type.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"
#include "checkpoint/reference_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto said = ckpt::parse_reference({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (const auto* const tensors = std::get_if<std::vector<ckpt::Tensor>>(&said)) {
      for (const ckpt::Tensor& tensor : *tensors)
        if (tensor.name.size() > size || tensor.bytes() % tensor.dtype.size != 0) std::abort();
      return 0;
    }
    for (const auto& [name, file] : std::get<ckpt::WeightMap>(said).file_of)
      if (file.empty() || file == ".." || file.find('/') != std::string::npos) std::abort();
  } catch (const ckpt::Error&) {
    return 0;  // refused, as most inputs ought to be
  }
  return 0;
}
