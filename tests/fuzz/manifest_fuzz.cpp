// Any bytes are a manifest, with or without files, or one error of the project's own type.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"
#include "checkpoint/read_manifest.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const bool is_directory : {false, true}) {
    try {
      const auto manifest = ckpt::parse_manifest({text, "fuzz", "merged.h5", is_directory});
      if (is_directory && manifest.files.size() != manifest.layout.mesh.size()) std::abort();
    } catch (const ckpt::Error&) {
      continue;  // refused, as most inputs ought to be
    }
  }
  return 0;
}
