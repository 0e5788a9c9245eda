#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "io/posix_file.hpp"
#include "sandbox/child_process.hpp"
#include "store/pickle/pickle.hpp"
#include "store/torch/tensor_view.hpp"

namespace ckpt::torch {

/// The contents of a file from torch.save: a tree, and the places of the storages that it refers to.
struct Archive {
  std::unique_ptr<const std::string> bytes;  ///< the pickles point into it
  Pickle tree;
  Storages storages;
  std::string layout = {};  ///< the layout that ckpt-reshard stored beside it; empty: none
  std::string manifest = {};
  std::string global_shapes = {};
  std::map<std::uint64_t, std::uint32_t> sums = {};  ///< CRC-32 of the storages that have one, by their first byte
};

/// Returns whether a file may come from torch.save, judging by its first bytes: a zip archive that begins as torch's
/// do, or the form before torch 1.6.
bool is_torch_file(const PosixFile& file, std::uint64_t file_bytes);

/// Reads everything except the tensors of a zip archive of torch.save in a part of the file. Throws input if it is
/// none.
Archive read_zip_archive(const PosixFile& file, Interval archive);

/// Returns the limits of a child that reads everything except the tensors of such a file.
IsolationLimits limits_of_file(std::uint64_t file_bytes);

/// Reads everything in a file except its tensors. Throws input if it is not from torch.save, or truncated; errors name
/// the object, not the file.
Archive read_archive(const PosixFile& file, std::uint64_t file_bytes);

}  // namespace ckpt::torch
