#pragma once

#include "store/dcp/dcp_metadata.hpp"
#include "store/store.hpp"
#include "store/torch/write_file.hpp"

namespace ckpt::torch {

/// Lays out a new .distcp file: an item for each array, and for each object in the specification's tree and attributes.
/// Its entry for the index is the message of a DcpMetadata of one unnamed file. Throws input for elements that torch
/// has no type for.
NewFile dcp_form(const FileSpec& spec);

/// Combines the entries of such files into the directory's metadata. A tensor without chunks in an entry contributes
/// only its path. Throws input if a name occurs twice.
DcpMetadata dcp_metadata_of(const std::vector<IndexedFile>& files);

}  // namespace ckpt::torch
