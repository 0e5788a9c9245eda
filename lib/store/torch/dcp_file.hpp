#pragma once

#include "store/store.hpp"
#include "store/torch/dcp_metadata.hpp"
#include "store/torch/write_file.hpp"

namespace ckpt::torch {

/// A new .distcp file: an item for each array, and for each object of the specification's tree and attributes. What the
/// index is to say of it is the message of a DcpMetadata of one file without a name. Throws input for elements that
/// torch has no type for.
NewFile dcp_form(const FileSpec& spec);

/// The metadata of a directory of such files. Throws input for names that are there twice.
DcpMetadata dcp_metadata_of(const std::vector<IndexedFile>& files);

}  // namespace ckpt::torch
