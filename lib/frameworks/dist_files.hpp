#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"
#include "tensor/box.hpp"

namespace ckpt {

/// A piece of a tensor, or a run of its elements in row-major order, in one file or in several that have the same.
struct DistPiece {
  Box box;
  std::optional<Interval> flat = {};  ///< the elements of the box that it has; nothing: all, as an array of its shape
  std::vector<std::uint32_t> files = {};  ///< indices into DistMetadata::files, ascending
};

struct DistTensor {
  std::string name;
  std::string type;  ///< "float32"; empty: older versions do not say it
  Shape shape;
  std::vector<DistPiece> pieces;
};

struct DistMetadata {
  std::vector<std::string> files;   ///< bare names, in natural order
  std::vector<DistTensor> tensors;  ///< sorted by name

  bool is_consistent() const;  ///< numbers of files are below files.size(), boxes lie in their tensors
};

/// A directory of which one file says which pieces of tensors the others have.
struct DistSource {
  std::filesystem::path metadata;  ///< this file
  std::string usual;               ///< the others' names by a template, if that describes them
  std::string remedy;              ///< for files that are not as the metadata say
  bool has_others = false;         ///< files may have arrays that the metadata do not name, and which are left out
};

/// Describes such a directory. Throws input if files are missing or are not as the metadata say, and for pieces that do
/// not make up their tensors.
DirectoryDescription describe_dist_files(const DistSource& source, const DistMetadata& metadata, SourceStore& store);

}  // namespace ckpt
