#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "store/dcp/dcp_metadata.hpp"

namespace ckpt::torch {

/// Returns the metadata files of a DCP directory: `.metadata`, or, if the ranks saved without collectives, one for each
/// rank (`__3.metadata`), by rank. Empty if it has neither.
std::vector<std::filesystem::path> dcp_metadata_files(const std::filesystem::path& directory);

/// Reads a DCP directory's metadata, in processes of their own. Throws input, naming the file.
DcpMetadata read_dcp_metadata(const std::filesystem::path& directory);

/// Reads names, paths and objects, without chunks. Does not read again what read_dcp_metadata has read last, if the
/// file is unchanged.
DcpMetadata read_dcp_contents(const std::filesystem::path& directory);

/// The name in Schema::format.
inline constexpr const char* dcp_format = "dcp";
inline constexpr const char* dcp_index = ".metadata";
inline constexpr const char* dcp_ending = ".distcp";
/// Megatron's variant of such a directory when it is written, and its file of everything that is not sharded.
inline constexpr const char* torch_dist_format = "torch_dist";
inline constexpr const char* torch_dist_tree = "common.pt";

/// Returns the number of slots of each file.
std::vector<std::uint32_t> dcp_slots(const DcpMetadata& metadata);

/// Reads the items of all files, in processes of their own, as many at once as there are cores. Returns as many
/// catalogs for each file, in the order of files, as it has slots. The first catalog has the file's first chunk of each
/// tensor, and the objects as attributes or leaves; the second catalog has the second chunks, and so on. Throws input,
/// naming file and tensor, for an item that contradicts the metadata.
std::vector<FileCatalog> read_dcp_catalogs(const std::filesystem::path& directory, const DcpMetadata& metadata);

/// Reads the tree of a directory (SourceStore::tree) in a child process: the paths of its tensors, and its objects.
/// Throws as read_dcp_catalogs does.
std::string read_dcp_tree(const std::filesystem::path& directory);

}  // namespace ckpt::torch
