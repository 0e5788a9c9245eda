#include "store/likely_content.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

namespace ckpt {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t bytes_looked_at = 512;

struct Mark {
  std::size_t at;
  std::string_view bytes;
  const char* what;
};

constexpr std::array marks{
    Mark{0, "version https://git-lfs"sv, "a Git LFS pointer, whose data is to be fetched with git lfs pull"},
    Mark{0, "\x1f\x8b"sv, "gzip data, which is to be unpacked"},
    Mark{0, "\x28\xb5\x2f\xfd"sv, "zstd data, which is to be unpacked"},
    Mark{257, "ustar"sv, "a tar archive, which is to be unpacked"},
    Mark{0, "PK\x03\x04"sv, "a zip archive"},
    Mark{0, "\x93NUMPY"sv, "an array of NumPy"},
    Mark{0, "GGUF"sv, "GGUF"},
    Mark{0,
         "\x7f"
         "ELF"sv,
         "a program"},
};

bool is_text(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0x7F || (byte < 0x20 && "\t\n\r\f"sv.find(c) == std::string_view::npos);
  });
}

}  // namespace

std::string likely_content(const std::filesystem::path& file) {
  std::array<char, bytes_looked_at> room{};
  std::ifstream in(file, std::ios::binary);
  in.read(room.data(), room.size());
  const std::string_view bytes(room.data(), static_cast<std::size_t>(in.gcount()));
  for (const Mark& mark : marks)
    if (bytes.size() > mark.at && bytes.substr(mark.at).starts_with(mark.bytes)) return mark.what;
  if (bytes.empty()) return "empty";
  if (!is_text(bytes)) return "";
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '[') ? "text, perhaps JSON"
                                                                                         : "text";
}

}  // namespace ckpt
