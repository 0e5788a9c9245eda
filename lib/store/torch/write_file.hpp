#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"
#include "store/torch/zip_layout.hpp"

namespace ckpt::torch {

/// What files that these programs write hold beside torch's own entries.
inline constexpr const char* layout_entry = "ckpt_layout";
inline constexpr const char* manifest_entry = "ckpt_manifest";
inline constexpr const char* global_shapes_entry = "ckpt_global_shapes";  ///< JSON, a shape for each tensor

/// Throws input for a specification that no such file can hold.
NewFile form_of(const FileSpec& spec);

/// The sum of all that a form holds already.
PartialSum sum_of_passages(const ZipForm& zip);

/// What such a file would not hold. Throws input for elements that torch has no type for.
std::vector<std::string> losses(const FileSpec& spec);

/// Throws input for names that are no paths of texts.
void check_names(const std::vector<std::string>& datasets, const std::vector<std::string>& groups);

}  // namespace ckpt::torch
