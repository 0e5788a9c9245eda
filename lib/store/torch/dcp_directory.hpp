#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "store/torch/dcp_metadata.hpp"

namespace ckpt::torch {

/// A DCP directory's `.metadata`, read in a process of its own. Throws input, naming the file.
DcpMetadata read_dcp_metadata(const std::filesystem::path& file);

/// What some files of a DCP directory hold.
struct DcpCatalogs {
  /// For each file, one behind the other, as many catalogs as it has slots: the first chunk of each tensor that the
  /// file holds is in the first one, with the objects, which are attributes; the second chunk in the second one.
  std::vector<FileCatalog> catalogs;
  std::vector<std::string> left_out;  ///< objects that are neither numbers nor texts: "rng (numpy.ndarray)"
};

/// How many slots each file has.
std::vector<std::uint32_t> dcp_slots(const DcpMetadata& metadata);

/// Reads the items of `files` (numbers, ascending), in processes of their own, as many at once as there are cores.
/// Throws input, naming file and tensor, for an item that is not what the metadata says.
DcpCatalogs read_dcp_catalogs(const std::filesystem::path& directory, const DcpMetadata& metadata,
                              const std::vector<std::uint32_t>& files);

}  // namespace ckpt::torch
