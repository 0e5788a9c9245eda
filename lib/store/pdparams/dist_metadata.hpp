#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/pickle/pickle.hpp"
#include "tensor/box.hpp"

/// The metadata of paddle.distributed.save_state_dict, which say where the pieces of tensors are.
namespace ckpt::pdparams {

/// A piece of a tensor, or a run of its elements in row-major order, in one file or in several that have the same.
struct DistPiece {
  Box box;
  std::optional<Interval> flat = {};  ///< the elements of the box that it has; nothing: all, as an array of its shape
  std::vector<std::uint32_t> files = {};  ///< indices into DistMetadata::files, ascending
};

struct DistTensor {
  std::string name;
  std::string type;  ///< "float32"; empty: older versions do not say it
  Shape shape;
  std::vector<DistPiece> pieces;
};

struct DistMetadata {
  std::vector<std::string> files;   ///< bare names, in natural order
  std::vector<DistTensor> tensors;  ///< sorted by name

  bool is_consistent() const;  ///< numbers of files are below files.size(), boxes lie in their tensors
};

/// Parses the pickle; nothing in it is executed. Throws input, naming the tensor, for contradictions: pieces outside
/// their tensor or in no file, and files elsewhere.
/// https://github.com/PaddlePaddle/Paddle, python/paddle/distributed/flex_checkpoint/dcp/metadata.py
DistMetadata parse_dist_metadata(const torch::Pickle& pickle);

/// Reads a file of metadata, in a child process. Throws input, naming the file.
DistMetadata read_dist_metadata(const std::filesystem::path& file);

}  // namespace ckpt::pdparams
