#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "store/child_process.hpp"
#include "store/posix_file.hpp"
#include "store/torch/pickle.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

/// What torch.save has written: a tree, and where the storages lie that it speaks of.
struct Archive {
  std::unique_ptr<const std::string> bytes;  ///< that the pickles point into
  Pickle tree;
  Storages storages;
  std::string layout = {};  ///< what these programs have put beside it; empty: nothing
  std::string manifest = {};
  std::string global_shapes = {};
  std::map<std::uint64_t, std::uint32_t> sums = {};  ///< CRC-32 of storages, by where they begin; not those without one
};

/// Whether a file may be one, by its first bytes: a zip archive that begins as torch's do, or the form before
/// torch 1.6.
bool is_torch_file(const PosixFile& file, std::uint64_t file_bytes);

/// Reads all of a zip archive of torch.save, a part of the file, but its tensors. Throws input for what is none.
Archive read_zip_archive(const PosixFile& file, Interval archive);

/// What a child may use that reads all of such a file but its tensors.
IsolationLimits limits_of_file(std::uint64_t file_bytes);

/// Reads all of a file but its tensors. Throws input for what is none, or is cut off; errors name the object, not the
/// file.
Archive read_archive(const PosixFile& file, std::uint64_t file_bytes);

}  // namespace ckpt::torch
