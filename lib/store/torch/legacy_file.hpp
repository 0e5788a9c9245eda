#pragma once

#include "store/zip/archive.hpp"

namespace ckpt::torch {

/// Returns whether a file begins as torch.save wrote before torch 1.6, and still does on request.
bool is_legacy_file(const PosixFile& file, std::uint64_t file_bytes);

/// Reads such a file: five concatenated pickles (a magic number, the protocol, the machine, the tree, the storages'
/// keys), then for each storage the number of its elements and its bytes. Throws input.
Archive read_legacy_file(const PosixFile& file, std::uint64_t file_bytes);

}  // namespace ckpt::torch
