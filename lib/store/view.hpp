#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensor/hyperslab.hpp"

namespace ckpt {

/// Another file whose elements are shown.
struct ViewedFile {
  std::string path;                    ///< relative to the directory of the file that shows them
  std::optional<std::uint64_t> bytes;  ///< its size when the view was made, where that is known

  friend bool operator==(const ViewedFile&, const ViewedFile&) = default;
};

/// Elements of a dataset that are no more than shown: those of another file's dataset, as many and in the same order.
struct View {
  std::uint32_t file = 0;  ///< an index into the list of viewed files
  std::string dataset;     ///< in that file
  Hyperslab theirs;        ///< as a file has it, all where it has no stripes: ViewedFiles::checked completes it
  Hyperslab ours;

  friend bool operator==(const View&, const View&) = default;
};

}  // namespace ckpt
