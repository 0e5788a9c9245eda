#include "frameworks/only_word.hpp"

#include <cstdint>
#include <fstream>

namespace ckpt {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_bytes = 4096;

std::string only_word(const fs::path& file) {
  std::error_code none;
  if (!fs::is_regular_file(file, none) || fs::file_size(file, none) > most_bytes) return "";
  std::ifstream stream(file);
  std::string word;
  std::string more;
  return stream >> word && !(stream >> more) ? word : "";
}

}  // namespace ckpt
