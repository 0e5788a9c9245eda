#include "output/creation_mask.hpp"

#include <sys/stat.h>

namespace ckpt {

namespace {

constexpr mode_t of_others = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
constexpr mode_t reading = S_IRGRP | S_IROTH;
constexpr unsigned from_reading_to_searching = 2;

}  // namespace

mode_t withheld_bits(const std::filesystem::path& file) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 ? of_others & ~info.st_mode : 0;
}

CreationMask::CreationMask(mode_t withheld) : before_(::umask(0)) {
  ::umask(before_ | withheld | (withheld & reading) >> from_reading_to_searching);
}

CreationMask::~CreationMask() {
  ::umask(before_);
}

}  // namespace ckpt
