#include "io/small_text.hpp"

#include "base/text.hpp"
#include "io/posix_file.hpp"

namespace ckpt {

std::string small_text(const std::filesystem::path& file, std::uint64_t most_bytes, const std::string& expected,
                       const Advice& advice) {
  const PosixFile opened = PosixFile::open_for_reading(file);
  const std::uint64_t bytes = opened.status().bytes;
  if (bytes > most_bytes)
    throw Error(Kind::input, file.string(), {"larger than " + format_bytes(most_bytes), expected, "", advice});
  return opened.text(0, bytes);
}

}  // namespace ckpt
