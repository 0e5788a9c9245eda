#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/rare.hpp"
#include "tensor/box.hpp"
#include "tensor/dtype.hpp"

namespace ckpt::torch {

/// A piece of a tensor, as a distributed checkpoint (DCP) stores it: as an item of a file.
struct DcpChunk {
  Box box;                 ///< of the tensor
  std::uint32_t file = 0;  ///< its number in DcpMetadata
  std::uint32_t slot = 0;  ///< how many chunks of the same tensor come before it in that file
  Interval item;           ///< of the file's bytes; says nothing where the file is one of safetensors
};

/// What leads from one dict or list to the next: a key, or a place.
struct DcpKey {
  std::string text;
  bool is_place = false;  ///< the number of a list's item

  friend bool operator==(const DcpKey&, const DcpKey&) = default;
};
using DcpPath = std::vector<DcpKey>;

struct DcpTensor {
  std::string name;
  DType dtype;
  Extents shape;
  std::vector<DcpChunk> chunks;  ///< none of them empty, unless the tensor is
  DcpPath path = {};             ///< where it was before names were made of it; never empty when read
  /// Why nobody can read it, whatever its files hold; it has no dtype and one chunk, without elements, then.
  Rare<Error> refusal = {};
};

/// A Python object that is an item by itself.
struct DcpObject {
  std::string name;
  DcpPath path;
  std::uint32_t file = 0;
  Interval item;
};

/// What the `.metadata` of a DCP directory says.
struct DcpMetadata {
  std::vector<std::string> files;  ///< in natural order; bare names
  std::vector<DcpTensor> tensors;  ///< sorted by name
  std::vector<DcpObject> objects;  ///< without collectives one of a name for each rank that has it, by their files
  std::string mcore_data = {};  ///< a pickle: what older versions of Megatron say there of each tensor; empty: nothing
};

/// Reads the pickle of a `.metadata`; nothing in it is run. Throws input, naming the tensor, for what contradicts
/// itself: chunks outside their tensor, stored nowhere or twice, files elsewhere. Tensors of types that are not known,
/// and transformed ones, are there with the reason (`refusal`).
/// https://github.com/pytorch/pytorch, torch/distributed/checkpoint/metadata.py and filesystem.py
DcpMetadata parse_dcp_metadata(std::string_view pickle);

/// What ranks that saved without collectives say together, each of its own files. What several say is a replica: a
/// chunk of several files, an object that stands there several times. Throws input, naming the tensor, where they
/// contradict each other.
DcpMetadata merged(std::vector<DcpMetadata> ranks);

/// The pickle that torch writes, of a form that all of its versions from 2.3 on read. Tensors without chunks only tell
/// a path. What has none was there by its name.
std::string pickled(const DcpMetadata& metadata);

/// As bytes, for another process. `decode_dcp_metadata` throws input on damage.
std::string encode(const DcpMetadata& metadata);
DcpMetadata decode_dcp_metadata(std::string_view bytes);

/// What lies in some of the files only; each keeps its number.
DcpMetadata within_files(const DcpMetadata& metadata, const std::vector<bool>& files);

}  // namespace ckpt::torch
