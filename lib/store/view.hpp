#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensor/hyperslab.hpp"

namespace ckpt {

/// Another file, whose elements a dataset shows.
struct ViewedFile {
  std::string path;                    ///< relative to the directory of the file that shows them
  std::optional<std::uint64_t> bytes;  ///< its size when the view was made, if known

  friend bool operator==(const ViewedFile&, const ViewedFile&) = default;
};

/// Elements that a dataset only shows: those of another file's dataset, as many and in the same order.
struct View {
  std::uint32_t file = 0;  ///< an index into the list of viewed files
  std::string dataset;     ///< name in that file
  Hyperslab theirs;        ///< as stored in the file; without stripes it is the whole dataset: ViewedFiles::checked
                           ///< completes it
  Hyperslab ours;

  friend bool operator==(const View&, const View&) = default;
};

}  // namespace ckpt
