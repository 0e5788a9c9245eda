#pragma once

#include <filesystem>
#include <string>

#include "frameworks/directory_description.hpp"
#include "store/pdparams/dist_metadata.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A directory of which one file says which pieces of tensors the others have.
struct DistSource {
  std::filesystem::path metadata;  ///< this file
  std::string usual;               ///< the others' names by a template, if that describes them
  std::string remedy;              ///< for files that are not as the metadata say
  bool has_others = false;         ///< files may have arrays that the metadata do not name, and which are left out
};

/// Describes such a directory. Throws input if files are missing or are not as the metadata say, and for pieces that do
/// not make up their tensors.
DirectoryDescription describe_dist_files(const DistSource& source, const pdparams::DistMetadata& metadata,
                                         SourceStore& store);

}  // namespace ckpt
