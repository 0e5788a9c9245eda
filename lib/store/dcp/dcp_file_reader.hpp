#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "store/catalog.hpp"
#include "store/dcp/dcp_metadata.hpp"

namespace ckpt::torch {

/// The contents of a file according to `.metadata`, by the numbers of tensors, chunks and objects there.
struct DcpFileContents {
  struct Chunk {
    std::uint32_t tensor;
    std::uint32_t chunk;
  };
  std::vector<Chunk> chunks;  ///< sorted by their tensors' names
  std::vector<std::uint32_t> objects;
};

/// Reads a .distcp file: an item for each chunk and object, or, after the objects' items, all chunks as one safetensors
/// file with the tensors' names. Adds a catalog for each of its slots, as read_dcp_catalogs returns them. Throws input
/// for contents that contradict the metadata; errors do not name the file.
/// https://github.com/pytorch/pytorch, torch/distributed/checkpoint/filesystem.py, SerializationFormat
void read_dcp_file(const std::filesystem::path& path, const DcpMetadata& metadata, const DcpFileContents& contents,
                   std::uint32_t slots, std::vector<FileCatalog>& catalogs);

}  // namespace ckpt::torch
