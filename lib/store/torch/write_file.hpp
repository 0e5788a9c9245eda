#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"
#include "store/zip/zip_layout.hpp"

namespace ckpt::torch {

/// Entries that ckpt-reshard adds to torch's own.
inline constexpr const char* layout_entry = "ckpt_layout";
inline constexpr const char* manifest_entry = "ckpt_manifest";
inline constexpr const char* global_shapes_entry = "ckpt_global_shapes";  ///< JSON: a shape for each tensor

/// Throws input for a specification that such a file cannot hold.
NewFile form_of(const FileSpec& spec);

/// Returns the sum of everything that a form contains already.
PartialSum sum_of_segments(const ZipForm& zip);

/// Lists what such a file would lose. Throws input for elements that torch has no type for.
std::vector<std::string> losses(const FileSpec& spec);

/// Throws input for names that are not paths of texts, and for a dataset that has the name of a group.
void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups);

}  // namespace ckpt::torch
