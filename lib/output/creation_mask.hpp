#pragma once

#include <sys/types.h>

#include <filesystem>

namespace ckpt {

/// The permission bits of group and others (of 066) that a file does not grant; 0 for what cannot be looked at.
mode_t withheld_bits(const std::filesystem::path& file);

/// While it lives, files that this process makes grant none of these bits either: what the source's owner has kept from
/// others does not become readable by being copied. Directories that cannot be listed cannot be searched. One at a
/// time: the mask (umask) is the process's.
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
