#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "store/catalog.hpp"
#include "store/torch/dcp_metadata.hpp"

namespace ckpt::torch {

/// What `.metadata` says of a file, by the numbers that tensors, their chunks and objects have there.
struct DcpFileContents {
  struct Chunk {
    std::uint32_t tensor;
    std::uint32_t chunk;
  };
  std::vector<Chunk> chunks;  ///< by their tensors' names
  std::vector<std::uint32_t> objects;
};

/// Reads a .distcp file: an item for each chunk and object, or behind the objects' items the chunks as one file of
/// safetensors, with the tensors' names. Adds a catalog for each of its slots, as read_dcp_catalogs gives them. Throws
/// input for what is not as the metadata says; errors do not name the file.
/// https://github.com/pytorch/pytorch, torch/distributed/checkpoint/filesystem.py, SerializationFormat
void read_dcp_file(const std::filesystem::path& path, const DcpMetadata& metadata, const DcpFileContents& contents,
                   std::uint32_t slots, std::vector<FileCatalog>& catalogs);

}  // namespace ckpt::torch
