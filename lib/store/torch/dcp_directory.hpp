#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "store/torch/dcp_metadata.hpp"

namespace ckpt::torch {

/// What a DCP directory has as its metadata: `.metadata`, or where the ranks have saved without collectives one for
/// each of them (`__3.metadata`), by their numbers. None where it has neither.
std::vector<std::filesystem::path> dcp_metadata_files(const std::filesystem::path& directory);

/// A DCP directory's metadata, read in processes of their own. Throws input, naming the file.
DcpMetadata read_dcp_metadata(const std::filesystem::path& directory);

/// The same without chunks: names, paths and objects. What the above has read last is not read again while the file
/// stays as it is.
DcpMetadata read_dcp_contents(const std::filesystem::path& directory);

/// As Schema::format has it.
inline constexpr const char* dcp_format = "dcp";
inline constexpr const char* dcp_index = ".metadata";
inline constexpr const char* dcp_ending = ".distcp";
/// Megatron's form of such directories, where one is written; and its file of what is not sharded.
inline constexpr const char* torch_dist_format = "torch_dist";
inline constexpr const char* torch_dist_tree = "common.pt";

/// How many slots each file has.
std::vector<std::uint32_t> dcp_slots(const DcpMetadata& metadata);

/// Reads the items of all files, in processes of their own, as many at once as there are cores. For each file, one
/// behind the other, there are as many catalogs as it has slots: the first chunk of each tensor that the file holds is
/// in the first one, with the objects, which are attributes or leaves; the second chunk in the second one. Throws
/// input, naming file and tensor, for an item that is not what the metadata says.
std::vector<FileCatalog> read_dcp_catalogs(const std::filesystem::path& directory, const DcpMetadata& metadata);

/// The tree of a directory (SourceStore::tree): the paths of its tensors, and its objects. A child process reads them.
/// Throws as read_dcp_catalogs.
std::string read_dcp_tree(const std::filesystem::path& directory);

}  // namespace ckpt::torch
