#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/boxed_optional.hpp"
#include "base/error.hpp"
#include "tensor/box.hpp"
#include "tensor/dtype.hpp"

namespace ckpt::torch {

/// A piece of a tensor, as a distributed checkpoint (DCP) stores it: an item of a file.
struct DcpChunk {
  Box box;                 ///< its part of the tensor
  std::uint32_t file = 0;  ///< index into DcpMetadata::files
  std::uint32_t slot = 0;  ///< number of chunks of the same tensor before it in that file
  Interval item;           ///< place in the file; meaningless in a safetensors file
};

/// One step from a dict or list to a value in it: a key, or an index.
struct DcpKey {
  std::string text;
  bool is_place = false;  ///< the index of a list's item

  friend bool operator==(const DcpKey&, const DcpKey&) = default;
};
using DcpPath = std::vector<DcpKey>;

struct DcpTensor {
  std::string name;
  DType dtype;
  Shape shape;
  std::vector<DcpChunk> chunks;  ///< none of them empty, unless the tensor is
  DcpPath path = {};             ///< the path from which its name was made; never empty when read
  /// The reason why nobody can read it, whatever its files hold; then it has no dtype, and one chunk without elements.
  BoxedOptional<Error> refusal = {};
};

/// A Python object that is an item of its own.
struct DcpObject {
  std::string name;
  DcpPath path;
  std::uint32_t file = 0;
  Interval item;
};

/// The contents of a DCP directory's `.metadata`.
struct DcpMetadata {
  std::vector<std::string> files;  ///< bare names, in natural order
  std::vector<DcpTensor> tensors;  ///< sorted by name
  std::vector<DcpObject> objects;  ///< in the order of their files; saved without collectives, a name occurs once for
                                   ///< each rank that has it
  std::string mcore_data = {};  ///< a pickle of what older versions of Megatron store there about each tensor; empty:
                                ///< none

  bool is_consistent() const noexcept;  ///< all numbers of files are below files.size()
};

/// Parses the pickle of a `.metadata`; nothing in it is executed. Throws input, naming the tensor, for contradictions:
/// chunks outside their tensor, stored nowhere or twice, or files elsewhere. Tensors of unknown types, and transformed
/// ones, are kept with the reason (`refusal`).
/// https://github.com/pytorch/pytorch, torch/distributed/checkpoint/metadata.py and filesystem.py
DcpMetadata parse_dcp_metadata(std::string_view pickle);

/// Throws input for a tensor without a chunk. One rank's metadata may have such: a rank may hold no row of a small
/// tensor.
void check_has_chunks(const DcpMetadata& metadata);

/// Merges the metadata of ranks that saved without collectives, where each describes its own files. What several ranks
/// describe is a replica: a chunk in several files, an object that occurs several times. Throws input, naming the
/// tensor, if they contradict each other.
DcpMetadata merged(std::vector<DcpMetadata> ranks);

/// Returns the pickle that torch writes, in a form that all of its versions from 2.3 on read. Leaves out tensors
/// without chunks. One without a path gets its name as its path.
std::string pickled(const DcpMetadata& metadata);

/// Restricts metadata to some of the files; each keeps its number.
DcpMetadata within_files(const DcpMetadata& metadata, const std::vector<bool>& files);

}  // namespace ckpt::torch
