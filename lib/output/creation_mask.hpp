#pragma once

#include <sys/types.h>

#include <filesystem>

namespace ckpt {

/// The permission bits of group and others (of 066) that a file does not grant; 0 for a file that cannot be examined.
mode_t withheld_bits(const std::filesystem::path& file);

/// While it exists, files that this process makes do not grant these bits either: copying data does not make readable
/// what the source's owner keeps from others. Directories that cannot be listed cannot be searched. Only one may exist
/// at a time: the mask (umask) is the process's.
class CreationMask {
 public:
  explicit CreationMask(mode_t withheld);
  ~CreationMask();
  CreationMask(const CreationMask&) = delete;
  CreationMask& operator=(const CreationMask&) = delete;
  CreationMask(CreationMask&&) = delete;
  CreationMask& operator=(CreationMask&&) = delete;

 private:
  mode_t before_;
};

}  // namespace ckpt
